-- Answers, those that were offered tools, and those whose prompt was compared with an earlier one's.
SELECT count(*), count(tool_set) FROM selected WHERE kind <> 'not_generation' AND generation <> 'none'
