-- All that a compacted segment holds, as it stood in the segment; of any shape.
SELECT row, place, line FROM read_parquet($file) ORDER BY row
