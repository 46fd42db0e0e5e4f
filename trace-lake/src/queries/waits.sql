SELECT
    category,
    name,
    count(*) AS count,
    round(sum(dur_ns - cpu_ns) / 1e6, 3) AS off_cpu_ms,
    round(sum(cpu_ns) / 1e6, 3) AS on_cpu_ms
FROM spans
WHERE cpu_ns IS NOT NULL
GROUP BY category, name
ORDER BY sum(dur_ns - cpu_ns) DESC, category, name
LIMIT 20
