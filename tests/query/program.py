"""Runs trace-query."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

Row = list[object]

INTEGER = re.compile(r"0|-?[1-9][0-9]*")


class Pairs(list):
    """The columns of a row, with their names."""

    def values(self) -> Row:
        return [dict(value) if isinstance(value, Pairs) else value for _, value in self]


@dataclass
class Query:
    program: Path
    environment: dict[str, str] = field(default_factory=dict)

    def results(self, archive: Path | str, queries: list[str]) -> list[list[Row]]:
        """The rows of each query, run in one process."""
        command = [str(self.program), str(archive), "--format", "json", "-f", "-"]
        text = ";\n".join(queries)
        environment = os.environ | self.environment
        run = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False, env=environment)
        if run.returncode != 0:
            raise RuntimeError(f"{archive}: exits with {run.returncode}: {run.stderr[:2000]}")
        return self.rows(run.stdout, len(queries))

    @staticmethod
    def rows(output: str, queries: int) -> list[list[Row]]:
        """The rows of each query, as they are printed."""
        results, rest = [], output.lstrip()
        # Columns can have one name.
        decoder = json.JSONDecoder(object_pairs_hook=Pairs)
        while rest:
            rows, end = decoder.raw_decode(rest)
            results.append([row.values() for row in rows])
            rest = rest[end:].lstrip()
        if len(results) != queries:
            raise RuntimeError(f"{len(results)} results of {queries} queries")
        return results

    def export(self, archive: Path, folder: Path) -> None:
        command = [str(self.program), str(archive), "--export", str(folder)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"{archive}: exits with {run.returncode}: {run.stderr[:2000]}")


def differences(expected: list[Row], found: list[Row], *, in_order: bool = False) -> list[str]:
    """The first rows of each side that the other one lacks, whatever their order, and the first row in another place if the order counts."""
    if in_order:
        expected, found = ([[cell(value) for value in row] for row in rows] for rows in (expected, found))
        places = enumerate(zip(expected, found))
        return [f"row {at}: {own}, not {other}" for at, (other, own) in places if not is_same(other, own)][:3] or differences(expected, found)
    expected, found = compared(expected), compared(found)
    if len(expected) == len(found) and all(map(is_same, expected, found)):
        return []
    left, right = Counter(map(repr, expected)), Counter(map(repr, found))
    missing, more = list((left - right).elements()), list((right - left).elements())
    return [f"{len(found)} rows, not {len(expected)}; missing {missing[:3]}, more {more[:3]}"]


def compared(rows: list[Row]) -> list[Row]:
    """Rows that can be compared: in one order, with numbers of one type."""
    return sorted(([cell(value) for value in row] for row in rows), key=order)


def order(row: Row) -> tuple[str, list[float]]:
    """What both engines compute exactly comes first, so that rows are not exchanged by the last bit of a sum."""
    exact = [None if isinstance(value, float) else value for value in row]
    return repr(exact), [value for value in row if isinstance(value, float)]


def cell(value: object) -> object:
    """Integers are text in some results, and a whole number is an integer or not."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and INTEGER.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def is_same(expected: Row, found: Row) -> bool:
    return len(expected) == len(found) and all(map(is_same_value, expected, found))


def is_same_value(expected: object, found: object) -> bool:
    """Engines add floating-point numbers in different orders, so that their last bits can differ."""
    types = {type(expected), type(found)}
    if float in types and types <= {float, int}:
        return math.isclose(expected, found, rel_tol=1e-12)
    return expected == found
