-- The exchanges that are asked for: selection.py in SQL, held together by a test.
CREATE OR REPLACE TEMP VIEW selected AS
SELECT
    *,
    -- A damaged clock's sum stays within 64 bits.
    at_unix_ns + least(greatest(end_ns, 0), 9223372036854775807 - greatest(at_unix_ns, 0)) AS ended_unix_ns,
    regexp_replace(peer, ':[0-9]*$', '') AS host,
    CASE
        WHEN error_kind IS NULL THEN kind
        WHEN first_token_ns IS NOT NULL OR generation = 'incomplete' OR error_kind = 'client_disconnect'
            THEN 'cut'
        ELSE 'error'
    END AS standing
FROM stored
WHERE
    (getvariable('since_unix_ns') IS NULL OR at_unix_ns >= getvariable('since_unix_ns'))
    AND (getvariable('until_unix_ns') IS NULL OR at_unix_ns < getvariable('until_unix_ns'))
    AND (getvariable('route') IS NULL OR getvariable('route') IN (route, label, upstream))
    AND (getvariable('label') IS NULL OR label = getvariable('label'))
    AND (getvariable('client') IS NULL OR contains(lower(client), lower(getvariable('client'))))
    AND (getvariable('model') IS NULL OR contains(lower(model), lower(getvariable('model'))))
    AND (getvariable('thread') IS NULL OR thread = getvariable('thread'))
    AND (NOT getvariable('turns_only') OR kind = 'turn')
