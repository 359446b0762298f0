-- Lines that were read here, each with its place and with what queries ask for.
-- `file`, `row`: which piece it is; a line that a crash glued together has a row for each of its pieces.
CREATE OR REPLACE TEMP TABLE taken (
    file VARCHAR,
    row BIGINT,
    place BIGINT,          -- line of the segment, from 1
    line BLOB,             -- to the byte, without its end
    reason VARCHAR,        -- why it is no record; NULL for a record and for a blank line
    id VARCHAR,            -- NULL: no record
    run VARCHAR,           -- of an id `<run>-<number>`
    number BIGINT,
    at_unix_ns BIGINT,
    end_ns BIGINT,
    ttft_ns BIGINT,
    first_token_ns BIGINT,
    route VARCHAR,
    label VARCHAR,
    upstream VARCHAR,
    peer VARCHAR,
    client VARCHAR,
    model VARCHAR,         -- as served, else as asked for
    thread VARCHAR,
    turn VARCHAR,
    kind VARCHAR,
    outcome VARCHAR,
    generation VARCHAR,
    error_kind VARCHAR,
    error_type VARCHAR,
    error_detail VARCHAR,
    status BIGINT,
    tool_set VARCHAR,
    called VARCHAR[],
    cause VARCHAR,
    lost BIGINT
)
