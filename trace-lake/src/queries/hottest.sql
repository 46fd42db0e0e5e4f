SELECT
    category,
    name,
    count(*) AS count,
    round(sum(self_ns) / 1e6, 3) AS self_ms,
    round(sum(dur_ns) / 1e6, 3) AS total_ms,
    round(max(dur_ns) / 1e6, 3) AS max_ms
FROM spans
WHERE NOT is_open
GROUP BY category, name
ORDER BY sum(self_ns) DESC, category, name
LIMIT 20
