"""Loads a trace into Perfetto's trace processor, and compares its tables with the known events of the program.

Differences between Perfetto's tables and the records: null is the string "null", integers are signed, NaN is null, strings end at a zero
byte, of arguments with one key the last one counts, the scope of an instant is ignored, and of a thread's id the low 32 bits are kept.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

from model import Expected
from perfetto_tables import Slice, Tables, tables

ERRORS = "select name, value from stats where value != 0 and severity in ('error', 'data_loss')"
THREADS = "select tid, pid, thread.name, process.name from thread join process using (upid) where tid != 0"
SLICES = """
    select tid, slice.id, slice.name, coalesce(category, ''), depth, dur, arg_set_id from slice
    join thread_track on track_id = thread_track.id join thread using (utid)
    where coalesce(category, '') != 'trace' order by tid, ts, slice.id"""
ASYNCS = """
    select slice.id, name, category, dur, arg_set_id from slice
    where track_id not in (select id from thread_track) order by ts, id"""
ARGS = "select arg_set_id, key, value_type, int_value, string_value, real_value from args order by id"
COUNTERS = """
    select pid, process_counter_track.name, value from counter
    join process_counter_track on track_id = process_counter_track.id join process using (upid) order by ts, counter.id"""
FLOWS = """
    select o.name, o.tid, i.name, i.tid from flow
    join (select slice.id, slice.name, tid from slice join thread_track on track_id = thread_track.id join thread using (utid)) o
        on slice_out = o.id
    join (select slice.id, slice.name, tid from slice join thread_track on track_id = thread_track.id join thread using (utid)) i
        on slice_in = i.id"""


def query(engine: Path, trace: Path, queries: list[str]) -> list[list[list[object]]]:
    script = Path(__file__).with_name("perfetto.js")
    command = ["node", str(script), str(engine), str(trace)]
    result = subprocess.run(command, input=json.dumps(queries), capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"Perfetto on {trace}: {result.stderr[:2000]}")
    return json.loads(result.stdout)


def errors(engine: Path, trace: Path) -> list[str]:
    """Perfetto's import errors."""
    [rows] = query(engine, trace, [ERRORS])
    return [f"import error: {name} {value}" for name, value in rows]


def low_ids(expected: Expected) -> Expected:
    low = Expected(expected.processes)
    for thread, names in expected.threads.items():
        low.threads[thread & 0xFFFFFFFF] = names
        low.events[thread & 0xFFFFFFFF] = expected.events[thread]
    return low


def faults(engine: Path, trace: Path, expected: Expected) -> list[str]:
    expected = low_ids(expected)
    errors, threads, slices, asyncs, args, counters, flows = query(
        engine, trace, [ERRORS, THREADS, SLICES, ASYNCS, ARGS, COUNTERS, FLOWS]
    )
    expected_tables = tables(expected)
    sets = argument_sets(args)
    found = [f"import error: {error}" for error in errors]
    found += compare_threads(expected, threads)
    found += compare_slices(expected_tables, slices, sets)
    found += differences("async", Counter(map(repr, expected_tables.asyncs)), Counter(repr(found_async(row, sets)) for row in asyncs))
    found += compare_counters(expected_tables, counters)
    return found + compare_flows(expected_tables, flows)


def json_faults(engine: Path, trace: Path, expected: Expected) -> list[str]:
    """Like `faults`, for the data that JSON can represent.

    There, instants of a process or of all have tracks of their own, no name is shown as such, and a zero byte as its escape. Of the
    number of an application's track the low bits are left.
    """
    errors, threads, slices, flows = query(engine, trace, [ERRORS, THREADS, SLICES, FLOWS])
    expected = numbered(expected)
    expected_tables = tables(expected)
    for thread, known in expected_tables.slices.items():
        own = [slice for slice in known if slice.scope == 0]
        expected_tables.slices[thread] = [replace(slice, args={}, name=json_name(slice.whole)) for slice in own]
    found = [f"import error: {error}" for error in errors]
    known = [slice for slice in slices if int(slice[0]) in expected.threads]
    arrows = [flow for flow in flows if int(flow[1]) in expected.threads]
    return found + compare_threads(expected, threads) + compare_slices(expected_tables, known, {}) + compare_flows(expected_tables, arrows)


def without(expected: Expected, *threads: int) -> Expected:
    rest = Expected(expected.processes, dict(expected.threads), expected.events.copy())
    for thread in threads:
        del rest.threads[thread]
        rest.events.pop(thread, None)
    return rest


def numbered(expected: Expected) -> Expected:
    """Replaces the numbers of tracks by those in JSON."""
    found = Expected(expected.processes)
    for thread, named in expected.threads.items():
        found.threads[thread & 0xFFFF_FFFF] = named
        found.events[thread & 0xFFFF_FFFF] = expected.events[thread]
    return found


def json_name(name: str) -> str:
    return name.replace("\0", "\\u0000") or "[No name]"


def compare_flows(expected: Tables, rows: list[list[object]]) -> list[str]:
    found = Counter((out, int(out_thread), into, int(into_thread)) for out, out_thread, into, into_thread in rows)
    return differences("flow", expected.flows, found)


def differences(what: str, expected: Counter, found: Counter) -> list[str]:
    missing = [f"{what}: missing {item}" for item in (expected - found).elements()]
    return missing + [f"{what}: not done {item}" for item in (found - expected).elements()]


def compare_threads(expected: Expected, rows: list[list[object]]) -> list[str]:
    found = {int(tid): (int(pid), name, process) for tid, pid, name, process in rows}
    names_by_thread = {tid: (pid, name, expected.processes[pid]) for tid, (pid, name) in expected.threads.items()}
    return [f"thread {tid} is {found.get(tid)}, not {names}" for tid, names in names_by_thread.items() if found.get(tid) != names]


def argument_sets(rows: list[list[object]]) -> dict[str, dict[str, object]]:
    sets: dict[str, dict[str, object]] = defaultdict(dict)
    for number, key, kind, integer, text, real in rows:
        value = text if kind == "string" else None if real is None and integer is None else real if kind == "real" else int(integer)
        sets[number][key] = (kind, float(value) if kind == "real" and value is not None else value)
    return sets


def compare_slices(expected: Tables, rows: list[list[object]], sets: dict[str, dict[str, object]]) -> list[str]:
    found: dict[int, list[Slice]] = defaultdict(list)
    for tid, _, name, category, depth, dur, args in rows:
        found[int(tid)].append(Slice(name, category, int(depth), sets.get(args, {}), dur == "-1"))
    faults = []
    for thread in sorted(expected.slices.keys() | found.keys()):
        pair = expected.slices.get(thread, []), found.get(thread, [])
        faults += [f"thread {thread}: {fault}" for fault in first_difference(*pair)]
    return faults


def first_difference(expected: list[Slice], found: list[Slice]) -> list[str]:
    for known, seen in zip(expected, found):
        if known != seen:
            return [f"expected {known}, found {seen}"[:1000]]
    return [] if len(expected) == len(found) else [f"expected {len(expected)} slices, found {len(found)}"]


def found_async(row: list[object], sets: dict[str, dict[str, object]]) -> Slice:
    _, name, category, dur, args = row
    return Slice(name, category, 0, sets.get(args, {}), dur == "-1")


def compare_counters(expected: Tables, rows: list[list[object]]) -> list[str]:
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    for pid, name, value in rows:
        found[int(pid), name].append(float(value))
    names = expected.counters.keys() | found.keys()
    return [f"counter {name}: {found.get(name)}, not {expected.counters.get(name)}" for name in names if found.get(name) != expected.counters.get(name)]
