-- The records of what was chosen. On its own, because lines are what needs memory.
SELECT line FROM packed SEMI JOIN chosen_rows USING (file, row)
UNION ALL
SELECT line FROM taken SEMI JOIN chosen_rows USING (file, row)
