CREATE VIEW thread_or_process_slice AS
SELECT
    id, ts, dur, category, name, track_id, track_name, thread_name, utid, tid, is_main_thread,
    process_name, upid, pid, depth, parent_id, arg_set_id
FROM thread_slice
UNION ALL
SELECT
    id, ts, dur, category, name, track_id, track_name, CAST(NULL AS VARCHAR) AS thread_name,
    CAST(NULL AS BIGINT) AS utid, CAST(NULL AS BIGINT) AS tid,
    CAST(NULL AS BIGINT) AS is_main_thread, process_name, upid, pid, depth, parent_id, arg_set_id
FROM process_slice
