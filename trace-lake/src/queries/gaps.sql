SELECT process, thread, round(gap_ns / 1e6, 3) AS gap_ms, after_ns
FROM (
    SELECT
        process,
        thread,
        after_ns,
        lead(start_ns) OVER (PARTITION BY thread_id ORDER BY start_ns, id) - after_ns AS gap_ns
    FROM (
        SELECT
            process,
            thread,
            thread_id,
            id,
            start_ns,
            max(start_ns + dur_ns) OVER (PARTITION BY thread_id ORDER BY start_ns, id) AS after_ns
        FROM spans
    )
)
WHERE gap_ns > 0
ORDER BY gap_ns DESC, after_ns, process, thread
LIMIT 20
