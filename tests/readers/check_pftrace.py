"""Expectations for Perfetto's trace processor on archives that `trace convert` converted to its format.

Unlike with archives, no data is missing. Differences in form: null and floats that are no numbers are strings, integers
beyond 2^63 are, bytes are hexadecimal digits; arguments have `debug.` before their names, in which `.`, `[` and `]` are `_`.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import check_async_tasks
import fxt_bytes
import fxt_package
import perfetto
from model import Expected
from perfetto_tables import Slice
from recordings import Programs, Way, succeeds

# The slices of an application's tracks, as those of threads.
TRACKS = """
    select track.name, slice.id, slice.name, coalesce(category, ''), depth, dur, arg_set_id from slice
    join track on track_id = track.id where track_id not in (select id from thread_track) and track.name in ({}) order by ts, slice.id"""
SCOPED = """
    select track.name, slice.name, category, arg_set_id from slice join track on track_id = track.id
    where track.name in ('process events', 'global events') and category != 'trace' order by ts"""
OPERATIONS = """
    select slice.id, slice.name, category, dur, arg_set_id from slice join track on track_id = track.id
    where extract_arg(arg_set_id, 'debug.async id') is not null order by ts, slice.id"""
SCOPES = {"process events": 1, "global events": 2}
ARROWS = check_async_tasks.ARROWS.replace("'task'", "'debug.task'").replace("'poll-count'", "'debug.poll-count'")
# Each task and the task of its parent track, by id.
PARENTS = """
    select slice.name, above.name, extract_arg(slice.arg_set_id, 'debug.parent') = extract_arg(above.arg_set_id, 'debug.async id'), count(*)
    from slice join track on slice.track_id = track.id left join slice above on above.track_id = track.parent_id
    where extract_arg(slice.arg_set_id, 'debug.async id') is not null group by 1, 2, 3 order by 1"""
DATA = """
    select track.name, slice.name, category, (select string_value from args where args.arg_set_id = slice.arg_set_id and key = 'debug.blob')
    from slice join track on track_id = track.id where category in ('log', 'blob', 'object') or slice.name in ('attachment', 'large blob')
    order by slice.ts, slice.id"""
LOGS = "select tid, msg from android_logs join thread using (utid)"
LOSSES = """
    select sum(extract_arg(arg_set_id, 'debug.number')), sum(dur < 0), count(*) from slice join track on track_id = track.id
    where track.name = 'lost records' and slice.name like '% records dropped: %'"""
TURNS = "select cpu, tid, thread.name, ts, dur, priority, end_state from sched join thread using (utid) where tid != 0 order by ts"
WAKEUPS = "select woken.tid, waker.tid from thread_state join thread woken using (utid) join thread waker on waker_utid = waker.utid where waker.tid != 0"


def every_macro(programs: Programs, engine: Path, way: Way) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    archive = programs.work / "every_macro.fxt"
    yield "pftrace", lambda: data_faults(engine, programs.convert(archive, ".pftrace"))


def async_tasks(programs: Programs, engine: Path, way: Way) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    archive = programs.work / "async_tasks.fxt"
    tasks = check_async_tasks.tasks(fxt_package.read(archive))
    arrows = sum(len(task.polls) - 1 for task in tasks.values())
    trace = programs.convert(archive, ".pftrace")
    yield "pftrace", lambda: check_async_tasks.perfetto_faults(engine, trace, arrows, ARROWS)
    yield "nested tracks of pftrace", lambda: parent_faults(engine, trace)


def parent_faults(engine: Path, trace: Path) -> list[str]:
    [found] = perfetto.query(engine, trace, [PARENTS])
    expected_rows = [[name, parent, parent and "1", str(count)] for name, (count, parent) in sorted(check_async_tasks.TASKS.items())]
    return [] if found == expected_rows else [f"parents {found}, not {expected_rows}"]


def data_faults(engine: Path, trace: Path) -> list[str]:
    errors, found, logs = perfetto.query(engine, trace, [perfetto.ERRORS, DATA, LOGS])
    found = [[track, name, category, None if blob is None else bytes.fromhex(blob)] for track, name, category, blob in found]
    message = "a message with a number, 7"
    expected_rows = [
        ["blobs", "blob", "blob", b"\1\2\3"], ["blobs", "attachment", "example", b"text"],
        ["objects", "seven", "object", None], [None, message, "log", None],
    ]  # fmt: skip
    large = b"".join(row[3] for row in found if row[1] == "large blob")
    problems = [f"import error: {error}" for error in errors]
    problems += [f"missing {row} in {found}"[:1000] for row in expected_rows if row not in found]
    problems += [] if large == b"\4" * 70_000 else [f"large data of {len(large)} bytes"]
    return problems + ([] if [row[1] for row in logs] == [message] else [f"log {logs}"])


def loss_faults(engine: Path, trace: Path, lost: int) -> list[str]:
    """The losses are closed slices, and their sum is right."""
    errors, [[reported, is_open, count]] = perfetto.query(engine, trace, [perfetto.ERRORS, LOSSES])
    found = [f"import error: {error}" for error in errors]
    right = (reported, is_open) == (str(lost), "0") and int(count) > 0
    return found if right else found + [f"{reported} records reported as lost by {count} slices, {is_open} of them open, not {lost}"]


def scheduling(programs: Programs, engine: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """A handmade archive, because our programs do not record the scheduler."""
    archive = programs.work / "scheduling.fxt"
    archive.write_bytes(fxt_bytes.archive(*scheduling_records()).getvalue())
    yield "pftrace", lambda: scheduling_faults(engine, programs.convert(archive, ".pftrace"))


def scheduling_records() -> Iterator[bytes]:
    koid = lambda name, value: fxt_bytes.argument(8, name, value)  # noqa: E731
    weight = lambda name, value: fxt_bytes.argument(1, name, in_header=value & 0xFFFFFFFF)  # noqa: E731
    for thread, name in ((8, "eight"), (9, "nine")):
        header = 7 | 2 << 16 | fxt_bytes.inline(name) << 24 | 1 << 40
        yield fxt_bytes.record(header, fxt_bytes.words(thread), fxt_bytes.text(name), koid("process", 7))
    switch = lambda at, out, state, into, *weights: fxt_bytes.record(  # noqa: E731
        8 | len(weights) << 16 | 3 << 20 | state << 36 | 1 << 60, fxt_bytes.words(at, out, into), *weights
    )
    yield switch(1000, 0, 1, 8, weight("outgoing_weight", -(1 << 31)), weight("incoming_weight", 5))
    yield fxt_bytes.record(8 | 1 << 16 | 3 << 20 | 2 << 60, fxt_bytes.words(1500, 9), koid("waker", 8))
    yield switch(2000, 8, 3, 9, weight("outgoing_weight", 5), weight("incoming_weight", 6))
    legacy = 8 | 3 << 16 | 2 << 24 | 0 << 28 | 0 << 36 | 7 << 44 | 8 << 52
    yield fxt_bytes.record(legacy, fxt_bytes.words(3000, 7, 9, 7, 8))
    yield switch(4000, 8, 5, 0, weight("outgoing_weight", 8), weight("incoming_weight", -(1 << 31)))


def scheduling_faults(engine: Path, trace: Path) -> list[str]:
    errors, turns, wakeups = perfetto.query(engine, trace, [perfetto.ERRORS, TURNS, WAKEUPS])
    expected_rows = [
        ["3", "8", "eight", "1000", "1000", "5", "S"],
        ["3", "9", "nine", "2000", "1000", "6", "T"],
        ["3", "8", "eight", "3000", "1000", "8", "X"],
    ]  # fmt: skip
    problems = [f"import error: {error}" for error in errors]
    problems += [] if turns == expected_rows else [f"turns {turns}, not {expected_rows}"]
    return problems + ([] if ["9", "8"] in wakeups else [f"wakeups {wakeups}"])


def faults(engine: Path, trace: Path, expected: Expected) -> list[str]:
    own = {thread: name for thread, (_, name) in expected.threads.items() if thread >> 32}
    tracks = TRACKS.format(", ".join(repr(name) for name in own.values()))
    queries = [perfetto.ERRORS, perfetto.THREADS, perfetto.SLICES, tracks, SCOPED, OPERATIONS, perfetto.ARGS, perfetto.COUNTERS, perfetto.FLOWS]
    errors, threads, slices, on_tracks, scoped, asyncs, args, counters, flows = perfetto.query(engine, trace, queries)
    expected_tables = perfetto.tables(as_converted(expected))
    sets = without_prefix(perfetto.argument_sets(args))
    by_name = {name: thread for thread, name in own.items()}
    slices = slices + [[by_name[row[0]], *row[1:]] for row in on_tracks]
    found = [f"import error: {error}" for error in errors]
    found += perfetto.compare_threads(perfetto.without(expected, *own), threads)
    found += compare_scoped(expected_tables, scoped, sets)
    for thread, known in expected_tables.slices.items():
        expected_tables.slices[thread] = [slice for slice in known if slice.scope == 0]
    found += perfetto.compare_slices(expected_tables, slices, sets)
    found += perfetto.differences("async", Counter(map(repr, expected_tables.asyncs)), Counter(repr(found_async(row, sets)) for row in asyncs))
    found += perfetto.compare_counters(expected_tables, counters)
    return found + perfetto.compare_flows(expected_tables, flows)


def as_converted(expected: Expected) -> Expected:
    made = Expected(expected.processes, expected.threads)
    for thread, events in expected.events.items():
        made.events[thread] = [replace(event, args=[converted(*argument) for argument in event.args]) for event in events]
    return made


def converted(key: str, kind: str, value: object) -> tuple[str, str, object]:
    """A value in the form of the converter: values that Perfetto would show wrongly are strings."""
    key = key.replace(".", "_").replace("[", "_").replace("]", "_")
    if kind == "f64":
        number = struct.unpack("<d", struct.pack("<Q", value))[0]
        if number != number or number in (float("inf"), float("-inf")):
            return key, "string", "NaN" if number != number else str(number)
    if kind in ("u64", "koid", "usize") and int(value) >> 63:
        return key, "string", str(value)
    return key, kind, value


def without_prefix(sets: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    named = {number: {key.removeprefix("debug."): value for key, value in args.items()} for number, args in sets.items()}
    return {number: {key: signed(*value) for key, value in args.items()} for number, args in named.items()}


def signed(kind: str, value: object) -> tuple[str, object]:
    return ("int" if kind == "uint" else kind, value)


def compare_scoped(expected_tables: perfetto.Tables, rows: list[list[object]], sets: dict[str, dict[str, object]]) -> list[str]:
    expected_rows = Counter(repr((slice.scope, slice.name, slice.category, slice.args)) for known in expected_tables.slices.values() for slice in known if slice.scope)
    found = Counter(repr((SCOPES[track], name, category, sets.get(args, {}))) for track, name, category, args in rows)
    return perfetto.differences("scope", expected_rows, found)


def found_async(row: list[object], sets: dict[str, dict[str, object]]) -> Slice:
    made = perfetto.found_async(row, sets)
    return replace(made, args={key: value for key, value in made.args.items() if key != "async id"})
