CREATE VIEW flow AS
SELECT id, slice_out, slice_in, CAST(NULL AS BIGINT) AS arg_set_id
FROM (
    -- The upper bits of an id are those of its archive: in a store, several have the same flow_id.
    SELECT
        id,
        phase,
        lag(span_id) OVER (PARTITION BY id >> 40, flow_id ORDER BY time_ns, id) AS slice_out,
        lag(phase) OVER (PARTITION BY id >> 40, flow_id ORDER BY time_ns, id) AS before,
        span_id AS slice_in
    FROM flows
)
WHERE phase <> 'begin' AND before <> 'end' AND slice_out IS NOT NULL AND slice_in IS NOT NULL
