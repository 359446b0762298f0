-- A turn by its id or that of one of its exchanges, and the hidden exchanges that overlap it in time, of
-- its thread or from an address that it came from.
WITH named AS (
    SELECT coalesce(any_value(turn), any_value(id)) AS turn FROM selected WHERE id = $id
),
turn AS (
    SELECT id, thread, host, at_unix_ns, ended_unix_ns
    FROM selected
    WHERE
        turn = coalesce((SELECT turn FROM named), $id)
        OR (turn IS NULL AND id = (SELECT turn FROM named))
),
whole AS (
    SELECT
        min(at_unix_ns) AS began, max(ended_unix_ns) AS ended,
        list(DISTINCT thread) AS threads, list(DISTINCT host) AS hosts
    FROM turn
)
SELECT line FROM selected WHERE id IN (SELECT id FROM turn)
UNION ALL
SELECT line
FROM selected, whole
WHERE
    kind = 'hidden'
    AND id NOT IN (SELECT id FROM turn)
    AND at_unix_ns < ended AND ended_unix_ns > began
    AND (list_contains(threads, thread) OR list_contains(hosts, host))
