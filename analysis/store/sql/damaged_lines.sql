-- Lines of which some piece could not be read, piece by piece.
SELECT place, line
FROM trimmed SEMI JOIN (SELECT place FROM trimmed WHERE reason IS NOT NULL) USING (place)
ORDER BY row
