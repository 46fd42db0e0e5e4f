SELECT process, thread, round(gap_ns / 1e6, 3) AS gap_ms, after_ns
FROM (
    SELECT
        process,
        thread,
        start_ns + dur_ns AS after_ns,
        lead(start_ns) OVER (PARTITION BY thread_id ORDER BY start_ns) - start_ns - dur_ns AS gap_ns
    FROM spans
    WHERE depth = 0
)
WHERE gap_ns > 0
ORDER BY gap_ns DESC
LIMIT 20
