-- Answers to requests that offered a set of tools. An answer: a model was asked, and it began.
SELECT tool_set, count(*), max(at_unix_ns)
FROM selected
WHERE kind <> 'not_generation' AND generation <> 'none' AND tool_set IS NOT NULL
GROUP BY tool_set
ORDER BY tool_set
