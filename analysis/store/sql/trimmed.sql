-- One compacted segment.
CREATE OR REPLACE TEMP VIEW trimmed AS SELECT * FROM read_parquet(getvariable('trimmed_file'))
