-- Compacted segments as one table of the shape of `taken`.
CREATE OR REPLACE TEMP VIEW packed AS
SELECT * EXCLUDE (filename), parse_filename(filename) AS file
FROM read_parquet(getvariable('packed_files'), filename = true, union_by_name = false)
