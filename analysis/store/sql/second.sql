-- Records of an exchange that has one already, in the order of files and lines: they do not count.
CREATE OR REPLACE TEMP TABLE second AS
WITH told AS (
    SELECT file, row, id FROM packed WHERE id IS NOT NULL
    UNION ALL
    SELECT file, row, id FROM taken WHERE id IS NOT NULL
),
many AS (SELECT id FROM told GROUP BY id HAVING count(*) > 1)
SELECT file, row, id
FROM told SEMI JOIN many USING (id)
QUALIFY row_number() OVER (PARTITION BY id ORDER BY file, row) > 1
