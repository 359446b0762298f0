-- Numbers of a run that nothing is known of, as stretches, with the beginnings of the exchanges beside
-- them. Runs without one are found by counting, which is much cheaper.
WITH told AS (
    SELECT run, number, at_unix_ns FROM stored WHERE number IS NOT NULL
    UNION ALL
    SELECT run, number, NULL AS at_unix_ns
    FROM lost ANTI JOIN found USING (id) WHERE number IS NOT NULL
),
holed AS (
    SELECT run
    FROM told
    GROUP BY run
    HAVING max(number) - least(min(number), 1) + 1 > count(*)
),
numbers AS (
    SELECT run, number, any_value(at_unix_ns) AS at_unix_ns
    FROM told SEMI JOIN holed USING (run)
    GROUP BY run, number
),
beside AS (
    SELECT
        run,
        coalesce(lag(number) OVER each_run, 0) + 1 AS first_missing,
        number - 1 AS last_missing,
        lag(at_unix_ns) OVER each_run AS before_unix_ns,
        at_unix_ns AS behind_unix_ns
    FROM numbers
    WINDOW each_run AS (PARTITION BY run ORDER BY number)
)
SELECT * FROM beside WHERE last_missing >= first_missing ORDER BY run, first_missing
