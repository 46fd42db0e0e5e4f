CREATE VIEW process_slice AS
SELECT
    slice.id,
    slice.ts,
    slice.dur,
    slice.category,
    slice.name,
    slice.track_id,
    process_track.name AS track_name,
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
JOIN process_track ON slice.track_id = process_track.id
LEFT JOIN process ON process_track.upid = process.upid
