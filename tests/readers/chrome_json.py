"""Reads Chrome JSON with Python's own module, strictly."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from pathlib import Path

from model import OWN_CATEGORY, Event, Found, Known

KINDS = {
    "i": "instant", "C": "counter", "B": "duration_begin", "E": "duration_end", "X": "duration_complete",
    "b": "async_begin", "n": "async_instant", "e": "async_end", "s": "flow_begin", "t": "flow_step", "f": "flow_end",
}  # fmt: skip
SCOPES = ("t", "p", "g")
MAX_SAFE_INTEGER = 2**53 - 1


def read(path: Path) -> Found:
    found = Found()
    text = path.read_text(encoding="utf-8", errors="strict")
    whole = json.loads(text, parse_constant=refuse, parse_float=Decimal, object_pairs_hook=unique)
    for item in whole["traceEvents"]:
        add(found, item)
    return found


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise ValueError(f"a key comes twice: {pairs}")
    return keys


def add(found: Found, item: dict[str, object]) -> None:
    # JSON has the low bits of a track's number, which is too large for readers of JSON. Linux
    # threads have smaller numbers.
    if item.get("tid", 0) >> 30 == 1:
        item["tid"] |= 1 << 63
    if item["ph"] == "M":
        args = item["args"]
        if item["name"] == "process_name":
            found.processes[item["pid"]] = args["name"]
        elif item["name"] == "thread_name":
            found.threads[item["tid"]] = (item["pid"], args["name"])
    elif item["cat"] == OWN_CATEGORY:
        found.lost += item["args"]["number"] if item["name"] == "records dropped" else 0
    else:
        found.events[item["tid"]].append(event(item))


def event(item: dict[str, object]) -> Event:
    start = Decimal(item["ts"])
    end = start + Decimal(item["dur"]) if "dur" in item else None
    tail = item.get("s", item.get("id", item.get("id2", {}).get("local")))
    args = {key: exact(value) for key, value in item.get("args", {}).items()}
    return Event(KINDS[item["ph"]], item["cat"], item["name"], tail, args, start, end)


def exact(value: object) -> object:
    """Distinguishes True from 1, and compares floats by their bits."""
    if isinstance(value, bool):
        return ("bool", value)
    return ("f64", struct.pack("<d", value)) if isinstance(value, Decimal) else value


def view(known: Known) -> tuple[object, object]:
    args: dict[str, object] = {}
    for key, kind, value in known.args:
        args[free_key(args, key)] = shown(kind, value, known.kind == "counter")
    return tail(known), args


def free_key(args: dict[str, object], key: str) -> str:
    number = 1
    name = key
    while name in args:
        number += 1
        name = f"{key}#{number}"
    return name


def tail(known: Known) -> object:
    if known.kind == "instant":
        return SCOPES[known.tail or 0]
    absent = known.tail is None or (known.kind == "counter" and known.tail == 0)
    return None if absent else hex(known.tail)


def shown(kind: str, value: object, counter: bool) -> object:
    if kind == "f64":
        return float_shown(struct.pack("<Q", value))
    if kind == "bool":
        return ("bool", value)
    if kind == "pointer":
        return hex(value)
    if kind == "koid":
        return f"#{value}"
    if kind in ("null", "string"):
        return value
    return str(value) if abs(value) > MAX_SAFE_INTEGER and not counter else value


def float_shown(packed: bytes) -> object:
    number = struct.unpack("<d", packed)[0]
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    return ("f64", packed)
