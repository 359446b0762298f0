-- What went wrong and how often: all that the console's words for it are made of.
SELECT error_kind, error_type, error_detail, status, outcome, generation, count(*)
FROM selected
WHERE error_kind IS NOT NULL
GROUP BY ALL
ORDER BY min(at_unix_ns)
