-- For each tool: answers that called it, calls, and when the last of these answers was asked for.
SELECT name, count(*), sum(calls)::BIGINT, max(at_unix_ns)
FROM (
    SELECT name, at_unix_ns, count(*) AS calls
    FROM (
        SELECT id, at_unix_ns, unnest(called) AS name
        FROM selected
        WHERE kind <> 'not_generation' AND generation <> 'none' AND len(called) > 0
    )
    GROUP BY id, at_unix_ns, name
)
GROUP BY name
ORDER BY name
