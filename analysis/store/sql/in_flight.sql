-- For how long how many exchanges that asked a model were in flight at each upstream: a sweep over their
-- starts and ends. 0 in flight is idle time between the first start and the last end. Of marks at one
-- moment only the last has time behind it, and by then all of them are counted.
WITH marks AS (
    SELECT upstream, at_unix_ns AS moment, 1 AS change FROM selected WHERE kind <> 'not_generation'
    UNION ALL
    SELECT upstream, ended_unix_ns AS moment, -1 AS change FROM selected WHERE kind <> 'not_generation'
),
stretches AS (
    SELECT
        upstream,
        sum(change) OVER (line ROWS UNBOUNDED PRECEDING) AS in_flight,
        lead(moment) OVER line::HUGEINT - moment AS ns
    FROM marks
    WINDOW line AS (PARTITION BY upstream ORDER BY moment)
)
SELECT upstream, in_flight::BIGINT, sum(ns)::HUGEINT AS ns
FROM stretches
WHERE ns > 0
GROUP BY ALL
ORDER BY ALL
