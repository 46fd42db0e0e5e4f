"""The tables of Perfetto's trace processor for async operations of two processes with the same id."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import fxt_bytes
import perfetto
from recordings import Programs

OPERATIONS = """
    select slice.name, ts, dur, depth from slice
    where track_id not in (select id from thread_track) order by ts, slice.id"""


def checks(programs: Programs, engine: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    native = programs.work / "operations.fxt"
    native.write_bytes(fxt_bytes.archive(*records()).getvalue())
    apart = [["work", "1000", "4000", "0"], ["work", "2000", "7000", "0"]]
    # Perfetto merges them if it reads the archive itself.
    yield "operations of two processes in pftrace", lambda: faults(engine, programs.convert(native, ".pftrace"), apart)
    yield "operations of two processes in JSON", lambda: faults(engine, programs.convert(native), apart)
    document = programs.work / "operation.json"
    begin = {"ph": "b", "cat": "c", "name": "work", "id": 7, "ts": 1, "pid": 1, "tid": 1}
    document.write_text(json.dumps([begin, {"ph": "e", "cat": "c", "id": "0x7", "ts": 5, "pid": 2, "tid": 2}]), encoding="utf-8")
    yield "archive of an operation of all processes", lambda: faults(engine, programs.convert(document, ".fxt"), apart[:1])


def records() -> Iterator[bytes]:
    """Begins and ends of id 7, of threads 1 of process 1 and 2 of process 2."""
    for kind, ticks, thread in ((5, 1000, 1), (5, 2000, 2), (7, 5000, 1), (7, 9000, 2)):
        header = 4 | kind << 16 | fxt_bytes.inline("c") << 32 | fxt_bytes.inline("work") << 48
        yield fxt_bytes.record(header, fxt_bytes.words(ticks, thread, thread), fxt_bytes.text("c"), fxt_bytes.text("work"), fxt_bytes.words(7))


def faults(engine: Path, trace: Path, expected: list[list[object]]) -> list[str]:
    errors, found = perfetto.query(engine, trace, [perfetto.ERRORS, OPERATIONS])
    problems = [f"import error: {error}" for error in errors]
    return problems if found == expected else [*problems, f"{found}, not {expected}"]
