CREATE VIEW thread_slice AS
SELECT
    slice.id,
    slice.ts,
    slice.dur,
    slice.category,
    slice.name,
    slice.track_id,
    thread_track.name AS track_name,
    thread.name AS thread_name,
    thread.utid,
    thread.tid,
    thread.is_main_thread,
    process.name AS process_name,
    process.upid,
    process.pid,
    slice.depth,
    slice.parent_id,
    slice.arg_set_id,
    slice.thread_ts,
    slice.thread_dur,
    slice.slice_id
FROM slice
JOIN thread_track ON slice.track_id = thread_track.id
JOIN thread ON thread_track.utid = thread.utid
LEFT JOIN process ON thread.upid = process.upid
