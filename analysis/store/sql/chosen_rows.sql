-- Where the records of what was chosen stand.
CREATE OR REPLACE TEMP TABLE chosen_rows AS
SELECT file, row
FROM selected LEFT JOIN attached USING (id)
WHERE coalesce(turn, attached.unit, id) IN (SELECT unit FROM chosen)
