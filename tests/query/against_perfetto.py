"""The views of Perfetto's tables against its trace processor, query by query and row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import perfetto
import queries
from archives import Archive
from program import Query, Row, differences


def checks(query: Query, engine: Path, archive: Archive) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    texts = queries.SCHEDULING if archive.is_scheduling else queries.SLICES | queries.OTHERS
    texts = {name: text.replace("{key}", archive.key) for name, text in texts.items()}
    errors, *expected = perfetto.query(engine, archive.path, [perfetto.ERRORS, *texts.values()])
    yield "no import error", lambda: [f"{name} {value}" for name, value in errors], None
    found = query.results(archive.path, list(texts.values()))
    for name, own, other in zip(texts, found, expected):
        yield name, lambda name=name, own=own, other=other: compared(name, own, other), len(own)


def compared(name: str, own: list[Row], other: list[Row]) -> list[str]:
    return differences(with_floats(other), as_in_perfetto(own), in_order=name in queries.IN_ORDER)


def with_floats(rows: list[Row]) -> list[Row]:
    """Integers are text, so a number is a float, although JSON may show it without a fraction."""
    return [[float(value) if isinstance(value, int) else value for value in row] for row in rows]


def as_in_perfetto(rows: list[Row]) -> list[Row]:
    """Strings end at a zero byte there."""
    return [[value.split("\0")[0] if isinstance(value, str) else value for value in row] for row in rows]
