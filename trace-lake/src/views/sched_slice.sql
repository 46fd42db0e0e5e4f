CREATE VIEW sched_slice AS
SELECT
    id,
    start_ns AS ts,
    coalesce(dur_ns, -1) AS dur,
    cpu,
    cpu AS ucpu,
    thread_id AS utid,
    CASE end_state
        WHEN 'new' THEN 'R'
        WHEN 'running' THEN 'R'
        WHEN 'suspended' THEN 'T'
        WHEN 'blocked' THEN 'S'
        WHEN 'dying' THEN 'Z'
        WHEN 'dead' THEN 'X'
    END AS end_state,
    priority
FROM turns
