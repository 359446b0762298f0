-- What is taken: whole units (a turn with what stood in its way, or an exchange of no turn), in the order
-- of a hash of their names, as many as there is room for. Those of the last exchanges come first, because
-- the report shows these one by one. MD5, because its values are the same in each version and everywhere.
CREATE OR REPLACE TEMP TABLE chosen AS
WITH units AS (
    SELECT
        coalesce(turn, attached.unit, id) AS unit,
        count(*) AS size,
        bool_or(kind = 'turn') AS is_turn,
        max(at_unix_ns) AS last_unix_ns
    FROM selected LEFT JOIN attached USING (id)
    GROUP BY ALL
),
newest AS (
    SELECT min(at_unix_ns) AS at_unix_ns
    FROM (SELECT at_unix_ns FROM selected ORDER BY at_unix_ns DESC LIMIT $last)
),
ordered AS (
    SELECT
        unit, is_turn,
        sum(size) OVER (
            ORDER BY
                last_unix_ns >= (SELECT at_unix_ns FROM newest) DESC,
                md5_number_upper(unit),
                unit
            ROWS UNBOUNDED PRECEDING
        ) AS upto
    FROM units
    WHERE size <= $most
)
SELECT unit, is_turn FROM ordered WHERE upto <= $most
