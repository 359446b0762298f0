SELECT line FROM stored WHERE id = $id
