SELECT
    process,
    thread,
    pid,
    tid,
    count(*) AS spans,
    round(sum(self_ns) / 1e6, 3) AS in_spans_ms,
    round(sum(CASE WHEN depth = 0 THEN cpu_ns END) / 1e6, 3) AS on_cpu_ms
FROM spans
GROUP BY process, thread, pid, tid
ORDER BY sum(self_ns) DESC, process, thread, pid, tid
