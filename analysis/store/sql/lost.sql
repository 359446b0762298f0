-- Exchanges that a loss line names.
CREATE OR REPLACE TEMP TABLE lost AS
SELECT id, named.run AS run, named.number::BIGINT AS number
FROM (
    SELECT
        id,
        nullif(
            regexp_extract(id, '(?s)^(.+)-([0-9]{1,18})$', ['run', 'number']),
            {'run': '', 'number': ''}
        ) AS named
    FROM (SELECT DISTINCT unnest($ids::VARCHAR[]) AS id)
)
