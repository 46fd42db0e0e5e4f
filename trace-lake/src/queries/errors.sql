SELECT start_ns AS time_ns, category, name, process, thread, arg(args, 'error') AS error
FROM spans
WHERE arg(args, 'error') IS NOT NULL
UNION ALL
SELECT time_ns, category, name, process, thread, arg(args, 'error') AS error
FROM instants
WHERE arg(args, 'error') IS NOT NULL
ORDER BY time_ns, category, name, process, thread, error
