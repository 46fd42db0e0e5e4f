"""The tables against the results of `trace`, which computes them without a query engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from archives import Archive
from program import Query, Row, differences
from recordings import Programs, clean_environment, run

SPANS = """
    select category, name, role, count(*), sum(dur_ns), sum(self_ns), min(dur_ns), max(dur_ns) from spans
    where not is_open group by category, name, role"""
OPERATIONS = """
    select category, name, count(*), sum(dur_ns), min(dur_ns), max(dur_ns) from operations
    where not is_open group by category, name"""
COUNTERS = """
    select category, name, counter_id, series, count(*), min(value), max(value) from counters
    where not isnan(value) group by category, name, counter_id, series"""
# Marks of async operations are no instants there.
INSTANTS = "select category, name, count(*) from instants where scope <> 'operation' group by category, name"
KINDS = """
    select (select count(*) from spans where is_open) as open_spans, (select count(*) from wakeups) as wakeups,
        (select count(*) from samples) as samples, (select count(*) from logs) as logs, (select records from archives) as records"""
# The time on processors of spans whose threads the archive's scheduling knows.
ON_CPU = """
    select category, name, role, sum(cpu_ns) from spans where not is_open and cpu_ns is not null group by category, name, role"""
LOSSES = "select pid, tid, reason, sum(records) from losses group by pid, tid, reason"
# The longest operations.
OPERATION_IDS = "select operation_id from operations where not is_open order by dur_ns desc, id limit 3"
PATH = "select start_ns, start_ns + dur_ns, depth, category, name, operation_id, pid, tid, wait is null from critical_path({})"
THREADS = "select pid, tid, coalesce(name, '') from threads where pid is not null"


def checks(programs: Programs, query: Query, archive: Archive) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    stats = answer(programs, archive, "stats")
    info = answer(programs, archive, "info")
    check = answer(programs, archive, "check")
    texts = [SPANS, OPERATIONS, COUNTERS, INSTANTS, KINDS, THREADS, ON_CPU, LOSSES, OPERATION_IDS]
    spans, operations, counters, instants, kinds, threads, on_cpu, losses, ids = query.results(archive.path, texts)
    yield "spans", lambda: differences(lengths(stats["durations"], "role", "self_ns"), spans), len(spans)
    yield "operations", lambda: differences(lengths(stats["async"]), operations), len(operations)
    yield "counters", lambda: differences(counted(stats["counters"], "id", "series", "count", "min", "max"), counters), len(counters)
    yield "instants", lambda: differences(counted(stats["instants"], "count"), instants), len(instants)
    yield "other kinds", lambda: other_kinds(stats, check, kinds[0]), None
    yield "threads", lambda: known_threads(info, threads), len(threads)
    yield "times on processors", lambda: differences(times_on_cpu(stats["durations"]), on_cpu), len(on_cpu)
    yield "losses", lambda: differences(dropped(check["dropped"]), losses), len(losses)
    for [operation] in ids:
        own = query.results(archive.path, [PATH.format(operation)])[0]
        other = answer(programs, archive, "critical-path", "--id", str(operation))["path"]
        yield "critical paths", lambda own=own, other=other: differences(path(other), own, in_order=True), len(own)


def answer(programs: Programs, archive: Archive, command: str, *options: str) -> dict:
    result = run([str(programs.trace), command, "--json", str(archive.path), *options], clean_environment())
    # The archive may report missing data, such as cut strings.
    if result.returncode not in (0, 3):
        raise RuntimeError(f"{result.args} exits with {result.returncode}: {result.stderr[:2000]}")
    return json.loads(result.stdout)


def lengths(rows: list[dict], *keys: str) -> list[Row]:
    role, self_time = keys if keys else (None, None)
    found = []
    for row in rows:
        times = [row["total_ns"]] + ([row[self_time]] if self_time else []) + [row["min_ns"], row["max_ns"]]
        found.append([row["category"], row["name"], *([row[role]] if role else []), row["count"], *times])
    return found


def counted(rows: list[dict], *keys: str) -> list[Row]:
    return [[row["category"], row["name"], *(row[key] for key in keys)] for row in rows]


def times_on_cpu(rows: list[dict]) -> list[Row]:
    return [[row["category"], row["name"], row["role"], row["on_cpu_ns"]] for row in rows if row.get("on_cpu_ns") is not None]


def dropped(rows: list[dict]) -> list[Row]:
    return [[row["process"], row["thread"] or 0, row["reason"], row["number"]] for row in rows]


def path(parts: list[dict]) -> list[Row]:
    keys = ["from_ns", "to_ns", "depth", "category", "name", "id", "process", "thread", "runs"]
    return [[part[key] for key in keys] for part in parts]


def other_kinds(stats: dict, check: dict, found: Row) -> list[str]:
    kinds = check["kinds"]
    expected = [stats["begins_without_end"], kinds["wakeups"], kinds["samples"], kinds["logs"], check["records"]]
    names = ("open spans", "wakeups", "samples", "logs", "records")
    return [f"{name}: {own}, not {known}" for name, known, own in zip(names, expected, found) if known != own]


def known_threads(info: dict, found: list[Row]) -> list[str]:
    """Each thread with events is in the table. The table has also those without."""
    rows = {(int(row[0]), int(row[1])): row[2] for row in found}
    expected = {(int(row["process"]), int(row["thread"])): row["thread_name"] for row in info["threads"]}
    return [f"thread {key}: {rows.get(key)!r}, not {name!r}" for key, name in expected.items() if rows.get(key) != name]
