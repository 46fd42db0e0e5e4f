CREATE VIEW args AS
SELECT
    owner_id AS id,
    owner_id AS arg_set_id,
    key AS flat_key,
    key,
    CASE
        WHEN type IN ('real', 'bool', 'pointer') THEN type
        WHEN type IN ('null', 'blob', 'string') THEN 'string'
        ELSE 'int'
    END AS value_type,
    int_value,
    CASE type WHEN 'null' THEN 'null' WHEN 'blob' THEN 'unknown' ELSE string_value END
        AS string_value,
    real_value,
    CASE
        WHEN type = 'null' THEN 'null'
        WHEN type = 'blob' THEN 'unknown'
        WHEN type IN ('uint', 'koid') THEN CAST(int_value AS VARCHAR)
        ELSE text
    END AS display_value
FROM arguments
