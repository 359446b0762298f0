-- From the first byte of its first exchange to the end of its last.
SELECT coalesce(turn, id) AS name
FROM selected
WHERE kind = 'turn'
GROUP BY name
ORDER BY max(ended_unix_ns)::HUGEINT - min(at_unix_ns) DESC, name
LIMIT 1
