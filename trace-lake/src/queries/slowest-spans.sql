SELECT round(dur_ns / 1e6, 3) AS ms, category, name, process, thread, id, start_ns, args
FROM spans
WHERE NOT is_open
ORDER BY dur_ns DESC, start_ns, id
LIMIT 20
