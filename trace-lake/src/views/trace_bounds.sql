CREATE VIEW trace_bounds AS SELECT start_ns AS start_ts, end_ns AS end_ts FROM archives
