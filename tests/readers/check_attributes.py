"""Expectations for the archive of the example `attributes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import fxt_package
import perfetto
from model import Event, Found
from recordings import Programs, Way, succeeds

# The expected events in order: kind, category, name, and text arguments.
RECORDED = [
    ("duration_complete", "attributes", "Inventory::put", {"article": "nails"}),
    ("duration_complete", "orders", "received", {"article": "nails"}),
    ("flow_begin", "orders", "flow", {}),
    ("duration_complete", "orders", "shipped", {"order": 'article: "nails", number: 300'}),
    ("flow_end", "orders", "flow", {}),
    ("duration_complete", "attributes", "Inventory::stock", {"article": "nails"}),
    ("instant", "orders", "return", {"value": "200"}),
    ("instant", "orders", "error", {"error": "there are 200 only"}),
    ("instant", "orders", "error", {"error": "we do not have that"}),
    ("async_begin", "mail", "confirm", {"order": "order 1"}),
    ("instant", "mail", "return", {"value": "13"}),
    ("async_end", "mail", "confirm", {"state": "ready"}),
    ("async_begin", "mail", "notify customer", {"order": "order 2"}),
    ("async_end", "mail", "notify customer", {"state": "ready"}),
    ("duration_complete", "shapes", "shapes::sum", {}),
    ("duration_complete", "shapes", "shapes::doubled", {}),
]
# Texts that must not be recorded.
NOT_RECORDED = ["Inventory::position", "shapes::two", "secret", "token"]


def checks(programs: Programs, engine: Path, way: Way) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    archive = programs.work / "attributes.fxt"
    succeeds(programs.record(way, archive, [str(programs.example("attributes"))]))
    yield "fxt", lambda: faults(fxt_package.read(archive))
    yield "perfetto", lambda: perfetto.errors(engine, archive)


def faults(found: Found) -> list[str]:
    events = [event for thread in found.events.values() for event in thread]
    rest = iter(sorted(events, key=lambda event: event.start))
    problems = [f"{expected} is not recorded, or not in order" for expected in RECORDED if not any(is_recorded(event, *expected) for event in rest)]
    everything = str(events)
    return problems + [f"{text!r} is recorded" for text in NOT_RECORDED if text in everything]


def is_recorded(event: Event, kind: str, category: str, name: str, texts: dict[str, str]) -> bool:
    if (event.kind, event.category, event.name) != (kind, category, name) or not isinstance(event.args, dict):
        return False
    return all(text in str(event.args.get(key)) for key, text in texts.items())
