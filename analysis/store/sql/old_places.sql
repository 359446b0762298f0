-- Lines that go: of records that began before a moment, and of what could not be read those named here.
CREATE OR REPLACE TEMP TABLE old_places AS
SELECT place
FROM trimmed
GROUP BY place
HAVING
    CASE
        WHEN count(reason) > 0 THEN list_contains($damaged::BIGINT[], place)
        ELSE coalesce(max(at_unix_ns) < $before_unix_ns, false)
    END
