"""The content of a trace, for any reader, and the known events of the program `known_events`."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

# The category of the recorder's own records: clock anchors, losses.
OWN_CATEGORY = "trace"


@dataclass
class Known:
    """A known event of the program: a line of the file at KNOWN_EVENTS."""

    kind: str
    category: str
    name: str
    tail: int | None
    args: list[tuple[str, str, object]]


@dataclass
class Event:
    """An event that a reader found. Times have the reader's unit; `end` is that of a complete duration."""

    kind: str
    category: str
    name: str
    tail: object
    args: object
    start: float
    end: float | None = None

    def looks(self) -> tuple[object, ...]:
        return (self.category, self.name, self.tail, self.args)


@dataclass
class Objects:
    """The names of processes, and process and name of threads, by koid."""

    processes: dict[int, str] = field(default_factory=dict)
    threads: dict[int, tuple[int, str]] = field(default_factory=dict)


@dataclass
class Expected(Objects):
    events: dict[int, list[Known]] = field(default_factory=lambda: defaultdict(list))


@dataclass
class Found(Objects):
    events: dict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))
    # Records that are neither events nor kernel objects, in the reader's form.
    other_records: list[object] = field(default_factory=list)
    # The number of dropped records, as reported in the trace.
    lost: int = 0
    # Faults that were found while reading.
    faults: list[str] = field(default_factory=list)


def read_expected(path: Path) -> Expected:
    expected = Expected()
    for line in path.read_text(encoding="utf-8").strip("\n").split("\n"):
        note = json.loads(line)
        if note["kind"] == "process":
            expected.processes[note["koid"]] = note["name"]
        elif note["kind"] == "thread":
            expected.threads[note["koid"]] = (note["process"], note["name"])
        else:
            expected.events[note["thread"]].append(known(note))
    return expected


def known(note: dict[str, object]) -> Known:
    tail = None if note["tail"] is None else int(note["tail"])
    args = [(key, kind, parsed(kind, value)) for key, kind, value in note["args"]]
    return Known(note["kind"], note["category"], note["name"], tail, args)


def parsed(kind: str, value: object) -> object:
    """Numbers are text; a float is represented by its bits."""
    return value if kind in ("null", "bool", "string") else int(value)
