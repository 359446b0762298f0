SELECT id FROM found
