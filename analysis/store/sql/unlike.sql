-- Anything that differs between what was read and what was written.
SELECT 1
FROM (SELECT count(*) AS n, bit_xor(hash(row, place, line, reason, id, at_unix_ns)) AS digest FROM taken) AS read,
    (
        SELECT count(*) AS n, bit_xor(hash(row, place, line, reason, id, at_unix_ns)) AS digest
        FROM read_parquet($file)
    ) AS written
WHERE (read.n, read.digest) IS DISTINCT FROM (written.n, written.digest)
