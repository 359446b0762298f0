-- Pieces of compacted segments that were no records when they were compacted.
SELECT file, row, place, line FROM packed WHERE reason IS NOT NULL ORDER BY file, row
