CREATE VIEW process AS
SELECT
    id,
    id AS upid,
    CAST(pid % arrow_cast(4294967296, 'UInt64') AS BIGINT) AS pid,
    name
FROM processes
