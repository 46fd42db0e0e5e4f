CREATE VIEW trace_bounds AS
SELECT min(start_ns) AS start_ts, max(end_ns) AS end_ts FROM archives
