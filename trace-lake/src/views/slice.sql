CREATE VIEW slice AS
SELECT
    id,
    ts,
    dur,
    track_id,
    category,
    category AS cat,
    name,
    depth,
    parent_id,
    CASE WHEN cardinality(args) > 0 THEN id END AS arg_set_id,
    CAST(NULL AS BIGINT) AS thread_ts,
    thread_dur,
    id AS slice_id,
    CAST(NULL AS VARCHAR) AS type,
    CAST(NULL AS BIGINT) AS stack_id,
    CAST(NULL AS BIGINT) AS parent_stack_id
FROM (
    SELECT
        id, start_ns AS ts, coalesce(dur_ns, -1) AS dur, track_id, category, name, depth, parent_id,
        args, cpu_ns AS thread_dur
    FROM spans
    UNION ALL
    SELECT
        id, start_ns, coalesce(dur_ns, -1), track_id, category, name, depth, parent_id,
        args, CAST(NULL AS BIGINT)
    FROM operations
    UNION ALL
    SELECT
        id, time_ns, CAST(0 AS BIGINT), track_id, category, name, depth, parent_id,
        args, CAST(NULL AS BIGINT)
    FROM instants
)
