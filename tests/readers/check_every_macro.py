"""Expectations for the archive of the example `every_macro`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import fxt_package
import perfetto
from model import Found
from recordings import Programs, Way, succeeds

DONE = {
    "duration_complete": 9, "duration_begin": 5, "duration_end": 5, "instant": 7, "counter": 11,
    "async_begin": 2, "async_instant": 1, "async_end": 2, "flow_begin": 2, "flow_step": 2, "flow_end": 2,
}  # fmt: skip
TYPES = {
    "null": None, "bool": ("bool", True), "i32": -1, "u32": 2, "i64": -3, "u64": 4, "usize": 5,
    "f32": ("f64", 0x3FE0000000000000), "f64": ("f64", 0x3FD0000000000000),
    "str": "text", "String": "owned", "Cow": "borrowed", "own type": 7,
}  # fmt: skip


def checks(programs: Programs, engine: Path, way: Way) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    archive = programs.work / "every_macro.fxt"
    succeeds(programs.record(way, archive, [str(programs.example("every_macro"))]))
    yield "fxt", lambda: faults(fxt_package.read(archive))
    yield "perfetto", lambda: perfetto.errors(engine, archive)


def other_records(records: list[object]) -> list[str]:
    """Data, objects and messages. Large data is in three numbered records."""
    by_kind = {name: [record for record in records if type(record).__name__ == name] for name in map(lambda it: type(it).__name__, records)}
    [blob], [attachment] = by_kind["BlobRecord"], by_kind["LargeBlobNoMetadataRecord"]
    [value], [message] = by_kind["UserspaceObjectRecord"], by_kind["LogRecord"]
    large = by_kind["LargeBlobWithMetadataRecord"]
    parts = [{"why": "it is split", "part": part, "parts": 3} for part in (1, 2, 3)]
    right = {
        "blob": (blob.name, blob.type, bytes(blob.payload)) == ("blob", 1, b"\1\2\3"),
        "attachment": (attachment.category, attachment.name, bytes(attachment.payload)) == ("example", "attachment", b"text"),
        "object": (value.name, value.process_id) == ("seven", message.thread.process_id),
        "message": message.message == "a message with a number, 7",
        "parts": [record.args for record in large] == parts and len({record.timestamp_ns for record in large}) == 1,
        "large data": b"".join(bytes(record.payload) for record in large) == b"\4" * 70_000,
    }
    return [f"{name} is not as it was recorded: {records}"[:1000] for name, is_right in right.items() if not is_right]


def faults(found: Found) -> list[str]:
    events = [event for thread in found.events.values() for event in thread]
    kinds = Counter(event.kind for event in events)
    problems = [] if kinds == DONE else [f"{dict(kinds)}, not {DONE}"]
    [arguments] = [event.args for event in events if event.name == "arguments"]
    problems += [f"{key} is {arguments.get(key)}, not {value}" for key, value in TYPES.items() if arguments.get(key) != value]
    problems += other_records(found.other_records)
    names = sorted(name for _, name in found.threads.values())
    expected = ["a thread elsewhere", "ends what another began", "every_macro", "every_macro", "queue of the device", "responder", "trace-observer"]
    return problems + ([] if names == expected else [f"threads {names}, not {expected}"])
