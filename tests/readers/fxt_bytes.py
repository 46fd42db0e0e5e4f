"""Creates archives word by word, by the specification of the Fuchsia trace format."""

from __future__ import annotations

import io
import struct

MAGIC = 0x0016547846040010

THREAD = (7, 8)

INSTANT, COUNTER, DURATION_BEGIN, DURATION_END, DURATION_COMPLETE = range(5)


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def text(value: str | bytes) -> bytes:
    """A string stream: bytes, padded with zeros to whole words."""
    data = value.encode() if isinstance(value, str) else value
    return data + bytes(-len(data) % 8)


def inline(value: str | bytes) -> int:
    """The string ref of a string that follows."""
    return 0x8000 | len(value.encode() if isinstance(value, str) else value)


def record(header: int, *parts: bytes) -> bytes:
    """A record with its size, in words, in bits 4 to 15 of the header."""
    body = b"".join(parts)
    return words(header | (1 + len(body) // 8) << 4) + body


def provider(number: int = 1, name: str = "p") -> bytes:
    return record(1 << 16 | number << 20 | len(name) << 52, text(name))


def initialization(ticks_per_second: int = 1_000_000_000) -> bytes:
    return record(1, words(ticks_per_second))


def archive(*records: bytes) -> io.BytesIO:
    """An archive of one provider whose ticks are nanoseconds."""
    return io.BytesIO(words(MAGIC) + provider() + initialization() + b"".join(records))


def argument(kind: int, name: str, *value: int, in_header: int = 0) -> bytes:
    return record(kind | inline(name) << 16 | in_header << 32, text(name), words(*value))


def event(kind: int, ticks: int, *arguments: bytes, tail: tuple[int, ...] = ()) -> bytes:
    """An event named `n` of the category `c`, thread and strings inline."""
    header = 4 | kind << 16 | len(arguments) << 20 | inline("c") << 32 | inline("n") << 48
    return record(header, words(ticks, *THREAD), text("c"), text("n"), *arguments, words(*tail))
