-- How many exchanges of each kind, by whom, where to, and when.
SELECT
    standing, kind, outcome, generation, error_kind,
    coalesce(nullif(label, ''), route) || ' -> ' || upstream AS way,
    upstream, model, client,
    count(*), min(at_unix_ns) AS first_unix_ns, max(at_unix_ns)
FROM selected
GROUP BY ALL
ORDER BY first_unix_ns
