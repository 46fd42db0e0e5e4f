CREATE VIEW stats AS
SELECT name, CAST(NULL AS BIGINT) AS idx, severity, 'trace' AS source, value
FROM (
    SELECT 'records_dropped' AS name, 'data_loss' AS severity, records_dropped AS value
    FROM archives
    UNION ALL
    SELECT 'malformed_records' AS name, 'error' AS severity, malformed_records AS value FROM archives
    UNION ALL
    SELECT 'records' AS name, 'info' AS severity, records AS value FROM archives
)
