SELECT
    category,
    name,
    count(*) AS count,
    round(percentile(dur_ns, 50) / 1e3, 3) AS p50_us,
    round(percentile(dur_ns, 90) / 1e3, 3) AS p90_us,
    round(percentile(dur_ns, 99) / 1e3, 3) AS p99_us,
    round(max(dur_ns) / 1e3, 3) AS max_us
FROM spans
WHERE NOT is_open
GROUP BY category, name
ORDER BY count(*) DESC, category, name
