CREATE VIEW process_track AS
SELECT
    track_id AS id,
    min(name) AS name,
    'process_track' AS type,
    CAST(NULL AS BIGINT) AS parent_id,
    min(process_id) AS upid
FROM (
    SELECT track_id, name, process_id FROM operations
    UNION ALL
    SELECT track_id, name, process_id FROM instants WHERE scope = 'operation'
)
GROUP BY track_id
