"""DuckDB on the Parquet files of an archive against trace-query on the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
from archives import Archive
from program import Query, Row, differences
from recordings import Programs

QUERIES = {
    "spans": "select id, parent_id, depth, category, name, pid, tid, process, thread, start_ns, dur_ns, self_ns, is_open, role from spans",
    "spans by name": "select name, count(*), sum(dur_ns), min(self_ns), max(depth) from spans group by name",
    "arguments of spans": "select id, args['{key}'] from spans where args['{key}'] is not null",
    "spans of a time": "select id from spans where start_ns between (select min(start_ns) + 1000 from spans) and (select max(start_ns) from spans)",
    "instants": "select id, parent_id, name, scope, operation_id, tid, time_ns from instants",
    "operations": "select id, operation_id, name, pid, tid, start_ns, dur_ns, is_open from operations",
    "flows": "select id, flow_id, phase, span_id, tid, time_ns from flows",
    "counters": "select name, series, counter_id, count(*), min(value), max(value) from counters group by name, series, counter_id",
    "arguments": "select owner_id, owner, key, type, int_value, string_value from arguments where type <> 'real'",
    "logs": "select tid, time_ns, message from logs",
    "losses": "select pid, tid, reason, records from losses",
    "turns": "select cpu, tid, start_ns, dur_ns, end_state, priority from turns",
    "wakeups": "select tid, waker_tid, time_ns from wakeups",
    "samples": "select tid, time_ns, frames, addresses from samples",
    "threads": "select id, process_id, pid, tid, process, name from threads",
    "processes": "select id, pid, name from processes",
    "modules": "select pid, name, build_id from modules",
    "archives": "select providers, start_ns, end_ns, start_realtime_ns, records, events, is_complete from archives",
    "a join": """
        select s.name, t.name, count(*) from spans s join threads t on s.thread_id = t.id
        join processes p on t.process_id = p.id group by s.name, t.name""",
}


def checks(programs: Programs, query: Query, archive: Archive) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    folder = programs.work / f"{archive.name}.parquet"
    query.export(archive.path, folder)
    database = duckdb.connect()
    for file in sorted(folder.glob("*.parquet")):
        database.execute(f"create view {file.stem} as select * from read_parquet('{file}')")
    texts = {name: text.replace("{key}", archive.key) for name, text in QUERIES.items()}
    found = query.results(archive.path, list(texts.values()))
    for (name, text), own in zip(texts.items(), found):
        yield name, lambda text=text, own=own: differences(rows(database, text), own), len(own)
    yield "sorted by time", lambda: unsorted(database, folder), None


def rows(database: duckdb.DuckDBPyConnection, text: str) -> list[Row]:
    return [list(row) for row in database.execute(text).fetchall()]


def unsorted(database: duckdb.DuckDBPyConnection, folder: Path) -> list[str]:
    """Files whose rows are not in the order of time, or that are not compressed."""
    faults = []
    for table, time in (("spans", "start_ns"), ("instants", "time_ns"), ("counters", "time_ns"), ("operations", "start_ns")):
        times = [time for (time,) in rows(database, f"select {time} from {table}")]
        faults += [] if times == sorted(times) else [f"{table} is not sorted"]
        columns = rows(database, f"select compression, stats_min_value from parquet_metadata('{folder}/{table}.parquet') where path_in_schema = '{time}'")
        faults += [f"{table}: {column}" for column in columns if column[0] != "ZSTD" or column[1] is None]
    return faults
