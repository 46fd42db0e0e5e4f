"""What has to be in an archive of the example `every_macro`."""

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


def faults(found: Found) -> list[str]:
    events = [event for thread in found.events.values() for event in thread]
    kinds = Counter(event.kind for event in events)
    told = [] if kinds == DONE else [f"{dict(kinds)}, not {DONE}"]
    [arguments] = [event.args for event in events if event.name == "arguments"]
    told += [f"{key} is {arguments.get(key)}, not {value}" for key, value in TYPES.items() if arguments.get(key) != value]
    names = sorted(name for _, name in found.threads.values())
    expected = ["ends what another began", "every_macro", "every_macro", "queue of the device", "responder", "trace-service"]
    return told + ([] if names == expected else [f"threads {names}, not {expected}"])
