-- Hidden exchanges that ran while a turn did, of its thread or else from its address: with which turn
-- each is taken or left. Of several turns it is the one that began last.
CREATE OR REPLACE TEMP TABLE attached AS
WITH turns AS (
    SELECT
        coalesce(turn, id) AS unit,
        any_value(thread) AS thread,
        any_value(host) AS host,
        min(at_unix_ns) AS began,
        max(ended_unix_ns) AS ended
    FROM selected
    WHERE kind = 'turn'
    GROUP BY ALL
),
hidden AS (
    SELECT id, thread, host, at_unix_ns AS began, ended_unix_ns AS ended
    FROM selected
    WHERE kind = 'hidden' AND turn IS NULL
),
by_thread AS (
    SELECT hidden.id, turns.unit
    FROM hidden ASOF JOIN turns ON hidden.thread = turns.thread AND hidden.ended > turns.began
    WHERE turns.ended > hidden.began
),
by_host AS (
    SELECT hidden.id, turns.unit
    FROM hidden ASOF JOIN turns ON hidden.host = turns.host AND hidden.ended > turns.began
    WHERE turns.ended > hidden.began
)
SELECT id, coalesce(by_thread.unit, by_host.unit) AS unit
FROM by_thread FULL JOIN by_host USING (id)
