-- Of each compacted segment, the shape that it was written in.
SELECT parse_filename(file_name), decode(value) FROM parquet_kv_metadata($files) WHERE key = 'shape'
