"""Expectations for Perfetto's trace processor on archives and documents with rare contents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import check_samples
import fxt_bytes
import perfetto
from recordings import Programs

SLICES = """
    select tid, slice.name, ts, dur, depth from slice
    join thread_track on track_id = thread_track.id join thread using (utid) order by tid, ts"""
FLOWS = "select o.name, i.name from flow join slice o on slice_out = o.id join slice i on slice_in = i.id order by o.ts, i.ts"


@dataclass
class Case:
    """The expected result of a query on an archive or a document, in each of these formats."""

    name: str
    content: bytes | list[object] | dict[str, object]
    query: str
    expected: list[list[object]]
    formats: list[str] = field(default_factory=lambda: [".pftrace"])


def checks(programs: Programs, engine: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    for case in cases(programs):
        path = programs.work / case.name.replace(" ", "_")
        source = write(path, case.content)
        for suffix in case.formats:
            yield f"{case.name}{suffix}", lambda case=case, source=source, suffix=suffix: faults(programs, engine, case, source, suffix)


def write(path: Path, content: bytes | list[object] | dict[str, object]) -> Path:
    is_archive = isinstance(content, bytes)
    path = path.with_suffix(".fxt" if is_archive else ".json")
    path.write_bytes(content if is_archive else json.dumps(content).encode())
    return path


def faults(programs: Programs, engine: Path, case: Case, source: Path, suffix: str) -> list[str]:
    trace = source if suffix == source.suffix else programs.convert(source, suffix)
    errors, found = perfetto.query(engine, trace, [perfetto.ERRORS, case.query])
    problems = [f"import error: {error}" for error in errors]
    return problems if found == case.expected else [*problems, f"{found}, not {case.expected}"]


def cases(programs: Programs) -> Iterator[Case]:
    yield Case("late names", archive(*late_names()), "select pid, name from process where pid > 0", [["7", "second"]], [".pftrace", ".fxt"])
    yield Case("packets in blobs", packets_in_blobs(programs), SLICES, [["8", "n", "1000", "500", "0"], ["8", "n", "5000", "500", "0"]])
    yield Case("many CPUs", archive(*many_cpus()), "select cpu, tid, ts, dur from sched join thread using (utid) where tid != 0", MANY_CPUS)
    yield Case("flow ends", flow_ends(), FLOWS, [[f"out {n}", f"in {n}"] for n in range(4)], [".json", ".pftrace"])
    yield Case("counters", counters(), COUNTERS, [["ctr:a:5", 1], ["ctr:a:5", 2], ["ctr:b:0", 3]], [".fxt", ".pftrace"])
    yield Case("times before 0", before_0(), BEFORE_0, [["a", "0", "2000"], ["b", "3000", "0"]], [".fxt", ".pftrace"])
    yield Case("ends of other names", other_ends(), SLICES, OTHER_ENDS, [".fxt", ".pftrace"])
    yield Case("names of objects", archive(*named_objects()), NAMES, [["4096", "Main"]])
    yield Case("parts of blobs", archive(*parts_of_blobs()), BLOBS, [["whole", str(2 * 65_000)]])
    yield Case("stacks", stacks(), FRAMES, [["1", "0x20"], ["1", "0x10"], ["2", "0x30"], ["2", "leaf"]])
    yield Case("labels and places", labels(), LABELS, [["1", "one,two"]])


NAMES = "select extract_arg(arg_set_id, 'debug.view'), extract_arg(arg_set_id, 'debug.view name') from slice where name = 'n'"
BLOBS = "select name, length(extract_arg(arg_set_id, 'debug.blob')) from slice where category = 'blob'"
# The frames of each sample, innermost first.
FRAMES = f"select ts / 1000, name from ({check_samples.FRAMES.replace('frame.name, mapping.name', 'frame.name, mapping.name as path')})"
# Of the document itself Perfetto drops events before 0.
BEFORE_0 = "select slice.name, ts - trace_start(), dur from slice join thread_track on track_id = thread_track.id order by ts"
COUNTERS = "select track.name, value from counter join process_counter_track track on track_id = track.id order by ts"
# As of the document itself, but that this has no import errors for ends that close nothing.
OTHER_ENDS = [["1", "a", "1000", "3000", "0"], ["1", "b", "2000", "2000", "1"], ["2", "m", "1000", "2000", "0"], ["2", "n", "2000", "1000", "1"]]


LABELS = "select pid, group_concat(string_value) from process join args using (arg_set_id) where flat_key = 'chrome.process_label' group by pid"


def archive(*records: bytes) -> bytes:
    return fxt_bytes.archive(*records).getvalue()


def duration(ticks: int, end: int) -> bytes:
    return fxt_bytes.event(fxt_bytes.DURATION_COMPLETE, ticks, tail=(end,))


def process_name(name: str) -> bytes:
    return fxt_bytes.record(7 | 1 << 16 | fxt_bytes.inline(name) << 24, fxt_bytes.words(7), fxt_bytes.text(name))


def late_names() -> Iterator[bytes]:
    yield process_name("first")
    yield duration(1000, 2000)
    yield process_name("second")


def blob(kind: int, name: str, payload: bytes) -> bytes:
    return fxt_bytes.record(5 | fxt_bytes.inline(name) << 16 | len(payload) << 32 | kind << 48, fxt_bytes.text(name), fxt_bytes.text(payload))


def packets_in_blobs(programs: Programs) -> bytes:
    """A trace of Perfetto in pieces of 7 bytes, beside a duration."""
    inner = write(programs.work / "packets", archive(duration(5000, 5500)))
    packets = programs.convert(inner, ".pftrace").read_bytes()
    # A sequence of its own, as if another program had written it.
    pieces = [packets[at : at + 7] for at in range(0, len(packets), 7)]
    return archive(duration(1000, 1500), *(blob(3, "packets", piece) for piece in pieces))


MANY_CPUS = [["1023", "8", "1000", "1000"]]


def many_cpus() -> Iterator[bytes]:
    """The same thread on the last CPU that Perfetto accepts, and on further ones."""
    for cpu in (1023, 1024, 4000):
        for at, out, into in ((1000, 0, 8), (2000, 8, 0)):
            weights = [fxt_bytes.argument(1, name, in_header=1 << 31) for name in (["outgoing_weight"] if out == 0 else ["incoming_weight"])]
            header = 8 | len(weights) << 16 | cpu << 20 | 3 << 36 | 1 << 60
            yield fxt_bytes.record(header, fxt_bytes.words(at, out, into), *weights)


def flow_ends() -> list[object]:
    """Two flows end in the enclosing slice, and two in the next one."""
    events: list[object] = []
    for flow in range(4):
        at, binding = 100 * flow, {"bp": "e"} if flow % 2 == 0 else {}
        common = {"cat": "c", "pid": 1}
        events += [
            common | {"ph": "X", "name": f"out {flow}", "ts": at, "dur": 10, "tid": 1},
            common | {"ph": "s", "name": "flow", "id": flow, "ts": at + 5, "tid": 1},
            common | {"ph": "X", "name": f"in {flow}", "ts": at + (20 if binding else 40), "dur": 10, "tid": 2},
            common | {"ph": "f", "name": "flow", "id": flow, "ts": at + 25, "tid": 2} | binding,
        ]
    return events


def counters() -> list[object]:
    """Members and values that are no series."""
    common = {"ph": "C", "name": "ctr", "pid": 1, "tid": 1}
    return [
        common | {"ts": 1, "id": 5, "args": {"a": 1}},
        common | {"ts": 2, "id": "0x5", "tts": 7, "args": {"a": 2, "why": "none"}},
        {"ph": "C", "name": "ctr", "pid": 1, "ts": 3, "args": {"b": 3}},
    ]


def before_0() -> list[object]:
    common = {"pid": 1, "tid": 1}
    return [
        common | {"ph": "B", "name": "a", "ts": -2},
        common | {"ph": "E", "name": "a", "ts": 0},
        common | {"ph": "i", "name": "b", "ts": 1, "s": "t"},
    ]


def other_ends() -> list[object]:
    """On thread 1 an end of no begin, and on thread 2 of one around another."""
    threads = {1: ("Ba", "Bb", "Ex", "Ea"), 2: ("Bm", "Bn", "Em", "En")}
    return [
        {"ph": what[0], "name": what[1], "cat": "c", "ts": ts, "pid": 1, "tid": tid} for tid, events in threads.items() for ts, what in enumerate(events, 1)
    ]


def named_objects() -> Iterator[bytes]:
    """An argument that is a pointer to an object of its process."""
    yield fxt_bytes.record(6 | fxt_bytes.inline("Main") << 24, fxt_bytes.words(0x1000, 7), fxt_bytes.text("Main"))
    yield fxt_bytes.event(fxt_bytes.INSTANT, 1000, fxt_bytes.argument(7, "view", 0x1000))


def parts_of_blobs() -> Iterator[bytes]:
    """A blob in three parts, the last of which is not full."""
    for length in (32_000, 32_000, 1_000):
        yield blob(1, "whole", bytes(length))


def stacks() -> dict[str, object]:
    frames = {"1": {"name": "0x10"}, "2": {"name": "0x20", "parent": "1"}}
    common = {"ph": "i", "pid": 1, "tid": 1, "s": "t", "name": "n"}
    return {"traceEvents": [common | {"ts": 1, "sf": "2"}, common | {"ts": 2, "stack": ["leaf", "0x30"]}], "stackFrames": frames}


def labels() -> list[object]:
    return [
        {"ph": "M", "name": "process_labels", "pid": 1, "tid": 1, "args": {"labels": "one,two"}},
        {"ph": "X", "name": "n", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    ]
