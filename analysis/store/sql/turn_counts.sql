-- Turns, however many exchanges each of them has.
SELECT count(DISTINCT coalesce(turn, id)) FROM selected WHERE kind = 'turn'
