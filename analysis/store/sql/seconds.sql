SELECT file, id FROM second ORDER BY file, row
