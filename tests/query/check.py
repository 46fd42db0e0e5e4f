"""Compares the tables of trace-query with those of Perfetto's trace processor, with the results of `trace`, and with DuckDB and Apache Spark
on Parquet, of archives and of a store that has all of them; and those of a store on a cluster with those without it.

    python check.py --bin target/debug --query trace-query --engine PERFETTO_UI --work DIR

Prints a line for each check, and the number of those that passed and failed.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "readers"))

import archives  # noqa: E402
import deployment  # noqa: E402
import against_cluster  # noqa: E402
import against_duckdb  # noqa: E402
import against_otlp  # noqa: E402
import against_perfetto  # noqa: E402
import against_spark  # noqa: E402
import against_store  # noqa: E402
import against_trace  # noqa: E402
from program import Query  # noqa: E402
from recordings import Programs  # noqa: E402


@dataclass
class Check:
    """A check that finds faults. Each fault is a line of text."""

    archive: str
    name: str
    faults: Callable[[], list[str]]
    # The rows that are compared, or None if it compares something else.
    rows: int | None


def checks(programs: Programs, query: Query, engine: Path) -> Iterator[Check]:
    for name, faults, rows in deployment.checks(query):
        yield Check("deployment", name, faults, rows)
    recorded = []
    for archive in archives.recorded(programs):
        recorded.append(archive)
        if archive.is_exact:
            for name, faults, rows in against_perfetto.checks(query, engine, archive):
                yield Check(archive.name, f"Perfetto: {name}", faults, rows)
        for name, faults, rows in against_trace.checks(programs, query, archive):
            yield Check(archive.name, f"trace: {name}", faults, rows)
        for name, faults, rows in against_duckdb.checks(programs, query, archive):
            yield Check(archive.name, f"DuckDB: {name}", faults, rows)
    for name, faults, rows in against_store.checks(programs, query, recorded, programs.work / "stores"):
        yield Check("a store", name, faults, rows)
    for name, faults, rows in against_otlp.checks(programs, query, programs.work / "otlp"):
        yield Check("services", name, faults, rows)
    for what, name, faults, rows in against_spark.checks(query, recorded, programs.work / "spark"):
        yield Check(what, name, faults, rows)
    for name, faults, rows in against_cluster.checks(query, recorded, programs.work / "clusters"):
        yield Check("a store", name, faults, rows)


def without_rows(done: list[Check]) -> list[str]:
    """Comparisons that no archive has rows for, which could not fail."""
    rows = Counter()
    for check in done:
        rows[check.name] += 1 if check.rows is None else check.rows
    return [f"no archive has rows for {name}" for name, count in rows.items() if count == 0]


def report(check: Check) -> bool:
    try:
        faults = check.faults()
    except Exception:  # A program may fail in any way; that is a fault as well.
        faults = traceback.format_exc().splitlines()[-10:]
    print(f"{'FAILED' if faults else 'ok'}  {check.archive}, {check.name}", flush=True)
    for fault in faults[:10]:
        print(f"        {fault[:1000]}")
    return not faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--bin", "--query", "--engine", "--work"):
        parser.add_argument(option, type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    programs = Programs(options.bin.resolve(), options.work.resolve())
    done, results = [], []
    for check in checks(programs, Query(options.query.resolve()), options.engine):
        done.append(check)
        results.append(report(check))
    results.append(report(Check("all archives", "rows to compare", lambda: without_rows(done), None)))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
