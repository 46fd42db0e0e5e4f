CREATE VIEW process_counter_track AS
SELECT DISTINCT
    track_id AS id,
    name || ':' || series || ':' || CAST(counter_id AS VARCHAR) AS name,
    'process_counter' AS type,
    CAST(NULL AS BIGINT) AS parent_id,
    CAST(NULL AS VARCHAR) AS unit,
    CAST(NULL AS VARCHAR) AS description,
    process_id AS upid
FROM counters
