-- Bytes of all lines without their ends, and how many ends a whole file has.
SELECT sum(octet_length(line))::BIGINT, coalesce(max(place), 0) FROM taken
