SELECT
    o.name AS from_span,
    i.name AS to_span,
    count(*) AS arrows,
    round(avg(i.ts - o.ts) / 1e3, 3) AS mean_us,
    round(max(i.ts - o.ts) / 1e3, 3) AS max_us
FROM flow
JOIN slice o ON slice_out = o.id
JOIN slice i ON slice_in = i.id
GROUP BY o.name, i.name
ORDER BY count(*) DESC, o.name, i.name
