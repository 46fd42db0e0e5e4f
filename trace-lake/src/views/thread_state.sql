CREATE VIEW thread_state AS
SELECT
    id,
    ts,
    coalesce(lead(ts) OVER (PARTITION BY utid ORDER BY ts, rank) - ts, -1) AS dur,
    cpu,
    utid,
    state,
    waker_utid,
    CAST(NULL AS BIGINT) AS io_wait,
    CAST(NULL AS VARCHAR) AS blocked_function,
    CAST(NULL AS BIGINT) AS waker_id,
    CAST(NULL AS BIGINT) AS irq_context,
    cpu AS ucpu
FROM (
    SELECT *, lag(state) OVER (PARTITION BY utid ORDER BY ts, rank) AS before
    FROM (
        SELECT id, ts, cpu, utid, 'Running' AS state, CAST(NULL AS BIGINT) AS waker_utid, 2 AS rank
        FROM sched_slice
        UNION ALL
        SELECT
            id, ts + dur AS ts, CAST(NULL AS BIGINT) AS cpu, utid, end_state AS state,
            CAST(NULL AS BIGINT) AS waker_utid, 0 AS rank
        FROM sched_slice
        WHERE dur >= 0
        UNION ALL
        SELECT
            id, time_ns AS ts, CAST(NULL AS BIGINT) AS cpu, thread_id AS utid, 'W' AS state,
            waker_thread_id AS waker_utid, 1 AS rank
        FROM wakeups
    )
)
WHERE rank <> 1 OR before IS NULL OR before NOT IN ('Running', 'R', 'W')
