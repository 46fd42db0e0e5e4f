"""The archives that are compared: those of the examples, of the documentation, of a scheduler, and of events of one time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import check_file_search
import fxt_bytes
from recordings import Programs, Way, succeeds

WAY = Way("streaming", "16M", True)
TOO_SMALL = Way("oneshot", "64K", True)
# A clock of nanoseconds: Perfetto's times of other clocks are low by up to some microseconds.
CLOCK = {"TRACE_CLOCK": "boottime"}
# An argument that events of an example have.
KEYS = {"known_events": "hop", "every_macro": "url", "async_tasks": "url", "attributes": "article", "file_search": "bytes"}
# Archives of the documentation: requests, and two with records of the kernel. Their clock is the processor's.
DOCUMENTED = {"requests.fxt": "url", "search.fxt.zst": "bytes", "redis.fxt.zst": "len"}


@dataclass
class Archive:
    name: str
    path: Path
    # An argument that events have.
    key: str
    is_scheduling: bool = False
    # Whether it is compared with Perfetto: its clock counts nanoseconds, and it lacks no records.
    is_exact: bool = True


def recorded(programs: Programs) -> Iterator[Archive]:
    tree = programs.work / "tree"
    check_file_search.plant(tree)
    for name, key in KEYS.items():
        arguments = [check_file_search.TEXT, str(tree)] if name == "file_search" else []
        path = example(programs, name, WAY, programs.work / f"{name}.fxt", *arguments)
        yield Archive(name, path, key)
    path = example(programs, "known_events", TOO_SMALL, programs.work / "losses.fxt")
    yield Archive("losses", path, "hop", is_exact=False)
    for name, key in DOCUMENTED.items():
        path = Path(__file__).resolve().parents[2] / "docs/archives" / name
        yield Archive(name.split(".")[0], path, key, is_exact=False)
    path = programs.work / "scheduling.fxt"
    path.write_bytes(fxt_bytes.archive(*scheduling_records()).getvalue())
    yield Archive("scheduling", path, "", is_scheduling=True)
    path = programs.work / "ties.fxt"
    path.write_bytes(fxt_bytes.archive(*ties_records()).getvalue())
    yield Archive("ties", path, "none")


def example(programs: Programs, name: str, way: Way, path: Path, *arguments: str) -> Path:
    succeeds(programs.record(way, path, [str(programs.example(name)), *arguments], CLOCK))
    return path


def ties_records() -> Iterator[bytes]:
    """Events of one time, whose order is that of their records: siblings, inner ones, and points before, in and after them."""
    instant, begin, end, complete = (fxt_bytes.INSTANT, fxt_bytes.DURATION_BEGIN, fxt_bytes.DURATION_END, fxt_bytes.DURATION_COMPLETE)
    flow_begin, flow_end = 8, 10
    cases = [
        [(begin, 0, "a"), (end, 0, "a"), (begin, 0, "b"), (end, 10, "b")],
        [(begin, 0, "a"), (begin, 0, "b"), (begin, 0, "c"), (end, 5, "c"), (end, 5, "b"), (instant, 5, "i"), (end, 5, "a")],
        [(instant, 0, "i"), (begin, 0, "a"), (instant, 0, "j"), (end, 10, "a"), (instant, 10, "k")],
        [(instant, 0, "i"), (complete, 0, "a", 10), (instant, 0, "j"), (instant, 10, "k")],
        [(begin, 0, "a"), (instant, 0, "i"), (end, 0, "a"), (instant, 0, "j")],
        [(complete, 0, "a", 0), (complete, 0, "b", 20), (complete, 0, "c", 10), (complete, 0, "d", 0)],
        [(complete, 0, "a", 20), (begin, 0, "b"), (end, 10, "b"), (complete, 20, "c", 30)],
        [(begin, 0, "a"), (flow_begin, 0, "f", 1), (end, 5, "a"), (begin, 10, "b"), (flow_end, 10, "f", 1), (end, 15, "b")],
    ]
    for number, case in enumerate(cases):
        for kind, time, name, *tail in case:
            start = 1000 * (number + 1)
            values = [start + tail[0]] if kind == complete else tail
            header = 4 | kind << 16 | fxt_bytes.inline("c") << 32 | fxt_bytes.inline(name) << 48
            # The main thread, which Perfetto adds to each process.
            parts = (fxt_bytes.words(start + time, 7, 7), fxt_bytes.text("c"), fxt_bytes.text(name))
            yield fxt_bytes.record(header, *parts, fxt_bytes.words(*values))


def scheduling_records() -> Iterator[bytes]:
    """Two threads on two processors. Our programs do not record the scheduler without privileges."""
    koid = lambda name, value: fxt_bytes.argument(8, name, value)  # noqa: E731
    weight = lambda name, value: fxt_bytes.argument(1, name, in_header=value & 0xFFFFFFFF)  # noqa: E731
    for thread, name in ((8, "eight"), (9, "nine")):
        header = 7 | 2 << 16 | fxt_bytes.inline(name) << 24 | 1 << 40
        yield fxt_bytes.record(header, fxt_bytes.words(thread), fxt_bytes.text(name), koid("process", 7))
    switch = lambda cpu, at, out, state, into, *weights: fxt_bytes.record(  # noqa: E731
        8 | len(weights) << 16 | cpu << 20 | state << 36 | 1 << 60, fxt_bytes.words(at, out, into), *weights
    )
    wakeup = lambda at, thread, waker: fxt_bytes.record(  # noqa: E731
        8 | 1 << 16 | 3 << 20 | 2 << 60, fxt_bytes.words(at, thread), koid("waker", waker)
    )
    idle = -(1 << 31)
    yield switch(3, 1000, 0, 1, 8, weight("outgoing_weight", idle), weight("incoming_weight", 5))
    yield wakeup(1500, 9, 8)
    yield switch(3, 2000, 8, 3, 9, weight("outgoing_weight", 5), weight("incoming_weight", 6))
    yield wakeup(2500, 8, 9)
    yield switch(2, 2700, 0, 1, 8, weight("outgoing_weight", idle), weight("incoming_weight", 7))
    yield switch(3, 3000, 9, 2, 0, weight("outgoing_weight", 6), weight("incoming_weight", idle))
    yield switch(2, 4000, 8, 5, 0, weight("outgoing_weight", 7), weight("incoming_weight", idle))
