CREATE VIEW counter_track AS
SELECT DISTINCT
    track_id AS id,
    name || ':' || series || ':' || CAST(counter_id AS VARCHAR) AS name,
    'counter' AS type,
    CAST(NULL AS BIGINT) AS parent_id,
    CAST(NULL AS VARCHAR) AS unit,
    CAST(NULL AS VARCHAR) AS description
FROM counters
