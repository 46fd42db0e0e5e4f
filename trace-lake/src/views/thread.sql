CREATE VIEW thread AS
SELECT
    id,
    id AS utid,
    CAST(tid % arrow_cast(4294967296, 'UInt64') AS BIGINT) AS tid,
    name,
    process_id AS upid,
    CAST(tid = pid AS BIGINT) AS is_main_thread,
    CAST(NULL AS BIGINT) AS start_ts,
    CAST(NULL AS BIGINT) AS end_ts
FROM threads
