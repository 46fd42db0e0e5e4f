SELECT
    round(dur_ns / 1e6, 3) AS ms,
    category,
    name,
    operation_id,
    process,
    start_ns,
    args
FROM operations
WHERE NOT is_open
ORDER BY dur_ns DESC, start_ns, operation_id
LIMIT 20
