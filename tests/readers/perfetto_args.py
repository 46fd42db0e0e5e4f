"""The arguments of an event in Perfetto's tables."""

from __future__ import annotations

import struct

from model import Known


def merged(args: dict[str, object], event: Known) -> dict[str, object]:
    """The arguments of a slice with those that this event adds."""
    return args | {shown_text(key): shown(kind, value) for key, kind, value in event.args}


def shown(kind: str, value: object) -> tuple[str, object]:
    if kind == "null":
        return ("string", "null")
    if kind == "string":
        return ("string", shown_text(value))
    if kind == "bool":
        return ("bool", int(value))
    if kind == "f64":
        number = struct.unpack("<d", struct.pack("<Q", value))[0]
        return ("real", number if number == number else None)
    return ("pointer" if kind == "pointer" else "int", signed(value))


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 == 1 else value


def shown_text(text: str) -> str:
    return text.split("\0")[0]
