-- Where there is no compacted segment.
CREATE OR REPLACE TEMP VIEW packed AS SELECT * FROM taken WHERE false
