-- Tool sets that the lines that stay name.
SELECT DISTINCT tool_set FROM trimmed ANTI JOIN old_places USING (place) WHERE tool_set IS NOT NULL
