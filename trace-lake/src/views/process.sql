CREATE VIEW process AS
SELECT
    id,
    id AS upid,
    CAST(pid % arrow_cast(4294967296, 'UInt64') AS BIGINT) AS pid,
    name,
    CAST(NULL AS VARCHAR) AS cmdline,
    CAST(NULL AS BIGINT) AS start_ts,
    CAST(NULL AS BIGINT) AS end_ts,
    CAST(NULL AS BIGINT) AS parent_upid,
    CAST(NULL AS BIGINT) AS uid,
    CAST(NULL AS BIGINT) AS arg_set_id
FROM processes
