-- The records of all that is asked for.
SELECT line FROM selected
