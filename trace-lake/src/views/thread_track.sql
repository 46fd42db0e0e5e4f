CREATE VIEW thread_track AS
SELECT
    track_id AS id,
    CAST(NULL AS VARCHAR) AS name,
    'thread_execution' AS type,
    CAST(NULL AS BIGINT) AS parent_id,
    id AS utid
FROM threads
