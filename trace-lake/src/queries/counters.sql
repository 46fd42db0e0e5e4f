SELECT
    process,
    name,
    series,
    counter_id,
    count(*) AS count,
    min(value) AS smallest,
    avg(value) AS mean,
    max(value) AS largest
FROM counters
GROUP BY process, name, series, counter_id
ORDER BY process, name, series, counter_id
