CREATE VIEW counter AS
SELECT id, time_ns AS ts, track_id, value, CAST(NULL AS BIGINT) AS arg_set_id FROM counters
