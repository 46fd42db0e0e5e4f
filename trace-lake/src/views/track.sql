CREATE VIEW track AS
SELECT id, name, type, parent_id FROM thread_track
UNION ALL
SELECT id, name, type, parent_id FROM process_track
UNION ALL
SELECT id, name, type, parent_id FROM counter_track
