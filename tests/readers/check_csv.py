"""Expectations for CSV: Python's csv and json modules read the same events as from Chrome JSON."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from recordings import Programs

FIRST_COLUMNS = ["process", "process_name", "thread", "thread_name", "category", "name", "depth", "begin_ns", "duration_ns", "self_ns"]
COLUMNS = [*FIRST_COLUMNS, "kind", "id", "arguments", "message"]

COMMON = {"cat": "net", "pid": 1, "tid": 2}
# Texts with all characters that have a meaning in CSV, and one that a spreadsheet would evaluate.
TEXT = 'a, "b"; \'c\'\nd=\u00e9\u202e'
DOCUMENT = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 2, "args": {"name": "=1+1"}},
    {"ph": "X", "name": "outer", "ts": 1, "dur": 20, "args": {"text": TEXT, "n": -5}} | COMMON,
    {"ph": "B", "name": "in,ner", "ts": 2, "args": {"begin": 1.5}} | COMMON,
    {"ph": "E", "name": "in,ner", "ts": 6, "args": {"end": True}} | COMMON,
    {"ph": "b", "name": "load", "id": "0x2a", "ts": 3, "args": {"url": "/"}} | COMMON,
    {"ph": "e", "name": "load", "id": "0x2a", "ts": 30} | COMMON,
    {"ph": "i", "name": "moment", "ts": 40, "s": "t"} | COMMON,
    {"ph": "C", "name": "queue", "ts": 50, "args": {"depth": 3}} | COMMON,
]
ROWS = [
    {"name": "outer", "kind": "duration", "depth": "0", "begin_ns": "1000", "duration_ns": "20000", "self_ns": "16000", "arguments": {"text": TEXT, "n": -5}},
    {"name": "in,ner", "kind": "duration", "depth": "1", "begin_ns": "2000", "duration_ns": "4000", "self_ns": "4000", "arguments": {"begin": 1.5, "end": True}},
    {"name": "load", "kind": "async", "begin_ns": "3000", "duration_ns": "27000", "id": "0x2a", "arguments": {"url": "/"}},
    {"name": "moment", "kind": "instant", "begin_ns": "40000"},
    {"name": "queue", "kind": "counter", "begin_ns": "50000", "arguments": {"depth": 3}},
]


def checks(programs: Programs) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    document = programs.work / "rows.json"
    document.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    yield "rows", lambda: row_faults(read(programs.convert(document, ".csv")))
    archive = programs.work / "requests.fxt"
    archive.write_bytes((Path(__file__).parents[2] / "docs" / "archives" / "requests.fxt").read_bytes())
    yield "the events of JSON", lambda: event_faults(read(programs.convert(archive, ".csv")), json.loads(programs.convert(archive).read_text("utf-8")))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == COLUMNS, reader.fieldnames
        return list(reader)


def row_faults(rows: list[dict[str, str]]) -> list[str]:
    found = []
    for row in rows:
        if (row["process"], row["process_name"], row["thread"], row["category"]) != ("1", "'=1+1", "2", "net"):
            return [f"{row}"]
        cells = {name: cell for name, cell in row.items() if cell and COLUMNS.index(name) >= COLUMNS.index("name")}
        if "arguments" in cells:
            cells["arguments"] = json.loads(cells["arguments"])
        # The counter's id depends on the import.
        found.append({name: cell for name, cell in cells.items() if (row["kind"], name) != ("counter", "id")})
    return [] if found == ROWS else [f"{found}, not {ROWS}"]


def event_faults(rows: list[dict[str, str]], document: dict) -> list[str]:
    """Every event of the document has a row, and the reverse."""
    phases = {"duration": "X", "poll": "X", "drop": "X", "async": "b", "async-instant": "n", "flow": "s", "instant": "i", "counter": "C"}
    of_rows = Counter((phases[row["kind"]], row["category"], row["name"], int(row["begin_ns"])) for row in rows)
    events = [event for event in document["traceEvents"] if event["ph"] in phases.values() and event["name"] != "clock anchor"]
    of_events = Counter((event["ph"], event["cat"], event["name"], round(event["ts"] * 1000)) for event in events)
    problems = [f"{key}: {of_rows[key]} rows, {of_events[key]} events" for key in of_rows | of_events if of_rows[key] != of_events[key]]
    for row in rows:
        if row["duration_ns"] and not 0 <= int(row["self_ns"] or 0) <= int(row["duration_ns"]):
            problems.append(f"the self time of {row}")
    return problems if len(rows) == 140 else [*problems, f"{len(rows)} rows"]
