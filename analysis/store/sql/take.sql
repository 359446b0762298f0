-- Puts lines into `taken`. What is looked into, once, is the record as this version writes it, so that a
-- query sees what a decoder saw: `text` where the line is another one, else the line.
INSERT INTO taken BY NAME
SELECT
    $file AS file,
    row,
    place,
    line,
    reason,
    said[1] AS id,
    named.run AS run,
    named.number::BIGINT AS number,
    said[2]::BIGINT AS at_unix_ns,
    said[3]::BIGINT AS end_ns,
    -- Marks of damaged clocks may lie 64 bits apart: then there is no difference that fits.
    try_cast(said[4]::HUGEINT - said[5]::HUGEINT AS BIGINT) AS ttft_ns,
    said[4]::BIGINT AS first_token_ns,
    said[6] AS route,
    coalesce(said[7], '') AS label,
    said[8] AS upstream,
    said[9] AS peer,
    said[10] AS client,
    coalesce(nullif(said[11], ''), said[12]) AS model,
    said[13] AS thread,
    said[14] AS turn,
    said[15] AS kind,
    said[16] AS outcome,
    said[17] AS generation,
    said[18] AS error_kind,
    said[19] AS error_type,
    said[20] AS error_detail,
    said[21]::BIGINT AS status,
    said[22] AS tool_set,
    from_json(said[23], '["VARCHAR"]') AS called,
    said[24] AS cause,
    said[25]::BIGINT AS lost
FROM (
    SELECT
        *,
        nullif(
            regexp_extract(said[1], '(?s)^(.+)-([0-9]{1,18})$', ['run', 'number']),
            {'run': '', 'number': ''}
        ) AS named
    FROM (
        SELECT
            row,
            place,
            line,
            reason,
            json_extract_string(
                CASE WHEN reason IS NULL THEN coalesce(text, decode(line)) END,
                [
                    '$.id', '$.at_unix_ns', '$.timings.end_ns', '$.timings.first_token_ns',
                    '$.timings.request_end_ns', '$.route', '$.label', '$.upstream', '$.peer',
                    '$.client', '$.model_served', '$.request.model', '$.thread', '$.turn', '$.kind',
                    '$.outcome', '$.generation', '$.error_kind', '$.error_type', '$.error_detail',
                    '$.status', '$.tools.set_hash', '$.tools.called', '$.prefix.cause',
                    '$.prefix.lost'
                ]
            ) AS said
        FROM (
            SELECT
                unnest($rows::BIGINT[]) AS row,
                unnest($places::BIGINT[]) AS place,
                unnest($lines::BLOB[]) AS line,
                unnest($reasons::VARCHAR[]) AS reason,
                unnest($texts::VARCHAR[]) AS text
        )
    )
)
