"""Queries written for Perfetto's trace processor, after the examples of its documentation. They run unchanged here and there.

The numbers `id`, `utid`, `upid` and `track_id` differ, so results do not have them. Perfetto has a thread 0 and a process 0 that no
record is of.

Version 52 of the trace processor sorts text wrongly where a column has more than 24 texts and one with a byte over 127 among them: one of
the texts is then grouped with the empty one. The example has one event with such a name. Queries that group by names select the others by
`PLAIN`; "all slices" compares it.
"""

PLAIN = "slice.category <> 'größe/日本語'"

SLICES = {
    "all slices": "select ts, dur, name, category, depth from slice",
    "slices of a name": "select ts, dur, name from slice where name = 'request'",
    "GLOB": "select ts, dur, name from slice where name GLOB '*re*' and category not glob 'tra[cd]e'",
    "long slices": "select name, dur / 1e6 as dur_ms from slice where dur > 100000",
    "counts and durations": f"""
        select name, count(*), sum(dur), min(dur), max(dur) from slice where dur >= 0 and {PLAIN} group by name""",
    "mean durations": f"""
        select category, name, avg(dur) from slice where dur >= 0 and {PLAIN} group by category, name having count(*) > 1""",
    "slices of threads": """
        select slice.ts, slice.dur, slice.name, thread.tid, thread.name as thread_name
        from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)""",
    "slices of processes": """
        select slice.name, tid, pid, thread.name, process.name, is_main_thread from slice
        join thread_track on slice.track_id = thread_track.id join thread using (utid) left join process using (upid)""",
    "slices.with_context": """
        include perfetto module slices.with_context;
        select ts, dur, name, category, depth, thread_name, tid, process_name, pid from thread_slice""",
    "parents": """
        select child.ts, child.name, parent.ts, parent.name from slice child join slice parent on child.parent_id = parent.id""",
    "top-level slices": "select ts, name from slice where parent_id is null",
    "depths": "select depth, count(*) from slice group by depth order by depth",
    "longest slices": "select ts, dur, name from slice order by dur desc, ts, name limit 100",
    "unknown durations last": "select nullif(dur, -1) as known, ts, name from slice order by known desc, ts, name",
    "unknown durations first": "select nullif(dur, -1) as known, ts, name from slice order by known, ts, name",
    "self time": f"""
        with children as (select parent_id, sum(dur) as dur from slice where dur > 0 group by parent_id)
        select slice.name, sum(slice.dur - ifnull(children.dur, 0)) as self_dur
        from slice left join children on children.parent_id = slice.id where slice.dur >= 0 and {PLAIN}
        group by slice.name""",
    "ancestors": """
        select name, depth from ancestor_slice((select id from slice order by depth desc, ts limit 1))""",
    "descendants": """
        select ts, name, depth from descendant_slice((select id from slice
            where track_id in (select id from thread_track) and dur > 0 order by depth, dur desc, ts limit 1))""",
    "numbered by window": """
        select tid, ts, rank from (
            select tid, ts, row_number() over (partition by track_id order by ts, depth) as rank
            from slice join thread_track on track_id = thread_track.id join thread using (utid)) where rank <= 20""",
    "time since the last slice": """
        select tid, ts, gap from (
            select tid, ts, ts - lag(ts) over (partition by track_id order by ts, depth) as gap
            from slice join thread_track on track_id = thread_track.id join thread using (utid) where depth = 0)""",
    "buckets": """
        select case when dur < 10000 then 'short' when dur < 1000000 then 'middle' else 'long' end as length, count(*)
        from slice group by length""",
    "iif and cast": "select cast(ts / 1000000 as int) as ms, sum(iif(dur > 0, 1, 0)) from slice group by ms",
    "time since the start": "select (ts - trace_start()) / 1e9 as seconds, name from slice",
    "bounds": "select start_ts, end_ts, trace_end() - trace_start(), trace_dur() from trace_bounds",
    "open slices": "select name, count(*) from slice where dur = -1 group by name",
    "percentiles of names": f"""
        select name, percentile(dur, 50), count(1) from slice where dur >= 0 and {PLAIN}
        group by name having count(1) % 2 = 1""",
}

# Queries whose rows have one order.
IN_ORDER = {"depths", "longest slices", "unknown durations last", "unknown durations first"}

OTHERS = {
    "threads": "select tid, thread.name, pid, process.name from thread left join process using (upid) where tid != 0",
    "processes": "select pid, name from process where pid != 0",
    "threads of processes": """
        select pid, count(*), sum(is_main_thread) from thread join process using (upid) where pid != 0 group by pid""",
    "counters": """
        select ts, process_counter_track.name, value, pid from counter
        join process_counter_track on counter.track_id = process_counter_track.id join process using (upid)""",
    "durations of counter values": """
        select ts, name, value, lead(ts, 1, trace_end()) over (partition by track_id order by ts, counter.id) - ts as dur
        from counter join counter_track on counter.track_id = counter_track.id where value >= 0""",
    "extent of counters": """
        select name, min(value), max(value), count(*) from counter join counter_track t on counter.track_id = t.id group by name""",
    "flows": """
        select o.name, o.ts, i.name, i.ts from flow
        join slice o on flow.slice_out = o.id join slice i on flow.slice_in = i.id""",
    "delays of flows": """
        select o.name, i.name, count(*), max(i.ts - o.ts) from flow
        join slice o on slice_out = o.id join slice i on slice_in = i.id group by o.name, i.name""",
    "arguments": """
        select slice.ts, slice.name, args.key, args.value_type, args.int_value, args.string_value,
            case when args.real_value > -1e999 and args.real_value < 1e999 then args.real_value end as real_value
        from slice join args using (arg_set_id)""",
    # JSON, in which results are compared, has no infinite numbers.
    "infinite arguments": """
        select slice.name, args.key, iif(args.real_value = 1e999, 'plus', 'minus') as sign
        from slice join args using (arg_set_id) where args.real_value = 1e999 or args.real_value = -1e999""",
    "shown arguments": """
        select slice.name, key, display_value from slice join args using (arg_set_id) where value_type <> 'real'""",
    "EXTRACT_ARG": """
        select ts, name, EXTRACT_ARG(arg_set_id, '{key}') from slice where EXTRACT_ARG(arg_set_id, '{key}') is not null""",
    "slices without arguments": "select name, count(*) from slice where arg_set_id is null group by name",
}

SCHEDULING = {
    "turns": "select ts, dur, cpu, tid, thread.name, end_state, priority from sched join thread using (utid) where tid != 0",
    "turns of sched_slice": "select cpu, count(*), sum(dur) from sched_slice join thread using (utid) where tid != 0 group by cpu",
    "busiest threads": """
        select thread.name, tid, sum(dur) as cpu_time from sched join thread using (utid) where tid != 0
        group by utid, thread.name, tid order by cpu_time desc""",
    "states": "select ts, dur, state, tid from thread_state join thread using (utid) where tid != 0",
    "time in states": """
        select tid, state, sum(dur) from thread_state join thread using (utid) where tid != 0 and dur >= 0 group by tid, state""",
    "processors": "select cpu from cpu",
}
