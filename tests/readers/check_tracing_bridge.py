"""Expectations for the archive of the example `tracing_bridge`: a track for each asynchronous span, durations for all, and the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import chrome_json
import fxt_package
import perfetto
from model import Event, Found
from recordings import Programs, Way, succeeds

ORDERS = 8

# Instants of a track are slices without a length.
TRACKS = """
    select name, count(*), count(distinct track_id), sum(dur = -1) from slice
    where track_id not in (select id from thread_track) and category = 'tracing_bridge' and dur != 0 group by name order by name"""

BOUNDS = "select end_ts - start_ts from trace_bounds"
SLICE_NS = 1_000_000


def checks(programs: Programs, engine: Path, way: Way) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    archive = programs.work / "tracing_bridge.fxt"
    succeeds(programs.record(way, archive, [str(programs.example("tracing_bridge"))]))
    json = programs.convert(archive)
    yield "fxt", lambda: faults(fxt_package.read(archive))
    yield "json", lambda: faults(chrome_json.read(json))
    yield "perfetto", lambda: perfetto_faults(engine, archive)
    yield "perfetto of json", lambda: perfetto_faults(engine, json)
    part = programs.slice(archive, programs.work / "tracing_bridge_part.fxt", "--from", "1ms", "--to", "2ms", "--clip")
    yield "perfetto of a slice", lambda: slice_faults(engine, part)


def number(text: object) -> int:
    """JSON has large numbers as text, and ids in base 16."""
    return int(text, 0) if isinstance(text, str) else int(text)


def faults(found: Found) -> list[str]:
    events = [event for events in found.events.values() for event in events if event.category == "tracing_bridge"]
    problems = found.faults + ([f"{found.lost} records lost"] if found.lost else [])
    problems += counts(events)
    tracks = {number(event.tail): event for event in events if event.kind == "async_begin"}
    shop = [track for track, begin in tracks.items() if begin.name == "shop"]
    for track, begin in tracks.items():
        parents = [number(begin.args["parent"])] if "parent" in begin.args else []
        problems += [] if parents == ([] if begin.name == "shop" else shop) else [f"{begin.name} is a child of {parents}"]
        ends = [event for event in events if event.kind == "async_end" and number(event.tail) == track]
        problems += [] if len(ends) == 1 and ends[0].start >= begin.start else [f"{begin.name} ends {len(ends)} times"]
    return problems


def counts(events: list[Event]) -> list[str]:
    begun = Counter(event.name for event in events if event.kind == "async_begin")
    problems = [] if begun == {"shop": 1, "order": ORDERS} else [f"tracks {dict(begun)}"]
    durations = Counter(event.name for event in events if event.kind.startswith("duration"))
    # `price` is synchronous, with one duration each. An order is polled at least twice, and
    # dropped.
    problems += [] if durations["price"] == ORDERS else [f"{durations['price']} durations of price"]
    problems += [] if durations["order"] >= 3 * ORDERS else [f"{durations['order']} durations of order"]
    served = [event for event in events if event.args.get("message") == "served"]
    names = {event.name for event in served}
    problems += [] if len(names) == 1 and "examples/tracing_bridge.rs:" in min(names) else [f"events of one call site are {names}"]
    served = sorted(event.args["number"] for event in served)
    return problems + ([] if served == list(range(ORDERS)) else [f"served {served}"])


def perfetto_faults(engine: Path, trace: Path) -> list[str]:
    errors, tracks = perfetto.query(engine, trace, [perfetto.ERRORS, TRACKS])
    problems = [f"import error: {error}" for error in errors]
    expected = [["order", ORDERS], ["shop", 1]]
    found = [[name, int(count)] for name, count, _, _ in tracks]
    problems += [] if found == expected else [f"tracks {tracks}"]
    return problems + [f"{name}: {open_} never end" for name, _, _, open_ in tracks if open_ != "0"]


def slice_faults(engine: Path, part: Path) -> list[str]:
    """Neither clock anchors nor durations that begin earlier or end later stretch the time that Perfetto shows."""
    errors, [[length]] = perfetto.query(engine, part, [perfetto.ERRORS, BOUNDS])
    problems = [f"import error: {error}" for error in errors]
    # Perfetto rounds both bounds to a nanosecond.
    return problems + ([] if 0 < int(length) <= SLICE_NS + 1 else [f"Perfetto shows {length} ns of a slice of {SLICE_NS} ns"])
