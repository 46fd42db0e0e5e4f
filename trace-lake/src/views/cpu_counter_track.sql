CREATE VIEW cpu_counter_track AS
SELECT id, name, type, parent_id, unit, description, CAST(NULL AS BIGINT) AS cpu FROM counter_track WHERE false
