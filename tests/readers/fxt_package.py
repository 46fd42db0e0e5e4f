"""Reads an archive with the Python package `fxt`.

Where the package is wrong this says what is meant; `package_faults.py` shows each of those faults with a minimal archive.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

from fxt import models
from fxt.reader import parse_records
from fxt.types import KernelObjectType

from model import OWN_CATEGORY, Event, Found, Known


def read(path: Path) -> Found:
    found = Found()
    with path.open("rb") as file:
        result = parse_records(file)
    if result.had_unexpected_eof:
        found.faults.append(f"cut: {result.eof_error}")
    for provider in result.records_by_provider.values():
        for record in provider.records:
            add(found, record)
    return found


def add(found: Found, record: models.Record) -> None:
    if isinstance(record, models.KernelObjectRecord):
        if record.type == KernelObjectType.PROCESS:
            found.processes[record.id] = record.name
        else:
            found.threads[record.id] = (record.args["process"], record.name)
    elif not type(record).__name__.endswith("EventRecord"):
        found.other_records.append(record)
    elif record.category == OWN_CATEGORY:
        found.lost += record.args["number"] if record.name == "records dropped" else 0
    else:
        found.events[record.thread.thread_id].append(event(record))


def event(record: models.Record) -> Event:
    return Event(
        kind(record),
        record.category,
        record.name,
        getattr(record, "counter_id", getattr(record, "correlation_id", None)),
        {key: exact(value) for key, value in record.args.items()},
        record.timestamp_ns,
        # Fault: the package takes a complete duration's end for its length.
        getattr(record, "duration_ns", None),
    )


def kind(record: models.Record) -> str:
    """DurationBeginEventRecord: duration_begin."""
    name = type(record).__name__.removesuffix("EventRecord")
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


def exact(value: object) -> object:
    """Compares floats by their bits, so that NaN equals itself and 1.0 differs from 1. True differs from 1 too."""
    if isinstance(value, float):
        return ("f64", struct.unpack("<Q", struct.pack("<d", value))[0])
    return ("bool", value) if isinstance(value, bool) else value


def view(known: Known) -> tuple[object, object]:
    # Fault: the package drops all but the last of arguments with one key.
    args = {key: (kind, value) if kind in ("f64", "bool") else value for key, kind, value in known.args}
    # Fault: the package omits the scope of an instant.
    return (None if known.kind == "instant" else known.tail), args
