-- Lines that go, and lines that stay and hold something.
SELECT
    count(DISTINCT place) FILTER (place IN (FROM old_places)),
    count(DISTINCT place) FILTER (
        place NOT IN (FROM old_places) AND (id IS NOT NULL OR reason IS NOT NULL)
    )
FROM trimmed
