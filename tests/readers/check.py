"""Compares the results of independent readers of the examples' archives with the known events of the examples.

    python check.py --bin target/debug --engine PERFETTO_UI --work DIR

Prints a line for each check, and the number of those that passed and failed.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import chrome_json
import check_async_tasks
import check_attributes
import check_conversions
import check_csv
import check_day
import check_every_macro
import check_file_search
import check_operations
import check_pftrace
import check_samples
import check_scheduling
import check_tracing_bridge
import compare
import fxt_package
import perfetto
from model import Expected, Found, read_expected
from recordings import ROOMY, SAVED_OFTEN, TOO_SMALL, Programs, Way, succeeds

# The thread of known_events with the last events, except the main thread.
LAST_THREAD = "crowd 299"


@dataclass
class Check:
    """A check that finds faults. Each fault is a line of text."""

    name: str
    faults: Callable[[], list[str]]


def known_events(programs: Programs, way: Way) -> tuple[Path, Expected]:
    archive, notes = programs.work / "known_events.fxt", programs.work / "known_events.jsonl"
    notes.unlink(missing_ok=True)
    command, pause = [str(programs.example("known_events"))], {}
    if way in SAVED_OFTEN:
        # The two largest records fill half of the buffer.
        pause = {"KNOWN_EVENTS_PAUSE_MS": "500"}
    succeeds(programs.record(way, archive, command, {"KNOWN_EVENTS": str(notes)} | pause))
    return archive, read_expected(notes)


def event_by_event(programs: Programs, engine: Path, way: Way) -> Iterator[Check]:
    archive, expected = known_events(programs, way)
    json = programs.convert(archive)
    yield Check("fxt", lambda: compare.event_by_event(expected, fxt_package.read(archive), fxt_package.view))
    yield Check("json", lambda: compare.event_by_event(expected, chrome_json.read(json), chrome_json.view))
    yield Check("perfetto", lambda: perfetto.faults(engine, archive, expected))
    yield Check("perfetto of json", lambda: perfetto.json_faults(engine, json, expected))
    yield Check("pftrace", lambda: check_pftrace.faults(engine, programs.convert(archive, ".pftrace"), expected))
    # Strings of known_events are longer than a record. `trace check` reports their truncation.
    yield Check("trace check", lambda: exits_with(programs, archive, 3))
    if way in SAVED_OFTEN:
        yield Check("scopes span saves", lambda: scopes_in_two(fxt_package.read(archive)))


def scopes_in_two(found: Found) -> list[str]:
    """Fails if no scope was saved open: the buffer was too large for this check."""
    ended = {event.name for events in found.events.values() for event in events if event.kind == "duration_end"}
    return [f"{name} was not saved open" for name in ("main", "round") if name not in ended]


def remaining_events(programs: Programs, engine: Path, way: Way) -> Iterator[Check]:
    archive, expected = known_events(programs, way)
    json = programs.convert(archive)
    found = fxt_package.read(archive)
    yield Check("fxt", lambda: compare.nothing_invented(expected, found, fxt_package.view))
    yield Check("json", lambda: compare.nothing_invented(expected, chrome_json.read(json), chrome_json.view))
    yield Check("perfetto", lambda: perfetto.errors(engine, archive))
    if way.mode == "circular":
        yield Check("the newest are kept", lambda: compare.newest_kept(expected, found, fxt_package.view, LAST_THREAD))
    if way.mode == "oneshot":
        yield Check("losses are reported", lambda: losses(expected, sum(map(len, found.events.values())), found.lost))
        yield Check("losses in pftrace", lambda: check_pftrace.loss_faults(engine, programs.convert(archive, ".pftrace"), found.lost))
        yield Check("trace check", lambda: exits_with(programs, archive, 3))


def losses(expected: Expected, found: int, lost: int) -> list[str]:
    """Missing records are reported as lost, together with the names that ended threads could not write."""
    missing = compare.records(expected) - found
    accepted = range(missing, missing + len(expected.threads) + 1)
    return [] if missing > 0 and lost in accepted else [f"{missing} records are missing, {lost} are reported as lost"]


def exits_with(programs: Programs, archive: Path, status: int) -> list[str]:
    result = programs.check(archive)
    return [] if result.returncode == status else [f"exits with {result.returncode}: {result.stdout}{result.stderr}"]


def unit_tests(module: str) -> Iterator[Check]:
    """Each test of a module as a check."""
    for case in unittest.TestLoader().loadTestsFromName(module):
        for test in case:
            yield Check(test.id(), lambda: [text for _, text in outcome(test)])


def outcome(test: unittest.TestCase) -> list[tuple[unittest.TestCase, str]]:
    result = unittest.TestResult()
    test.run(result)
    return result.failures + result.errors


def groups(programs: Programs, engine: Path) -> Iterator[tuple[str, Callable[[], Iterator[Check]]]]:
    yield "the comparison itself", lambda: unit_tests("test_compare")
    yield "faults of the package fxt", lambda: unit_tests("package_faults")
    for way in ROOMY + SAVED_OFTEN:
        yield f"known_events ({way})", lambda: event_by_event(programs, engine, way)
    for way in TOO_SMALL:
        yield f"known_events ({way})", lambda: remaining_events(programs, engine, way)
    yield "scheduling", lambda: (Check(*pair) for pair in check_pftrace.scheduling(programs, engine))
    yield "scheduling", lambda: (Check(*pair) for pair in check_scheduling.checks(programs, engine))
    yield "samples", lambda: (Check(*pair) for pair in check_samples.checks(programs, engine))
    yield "ids", lambda: (Check(*pair) for pair in check_operations.checks(programs, engine))
    yield "conversions", lambda: (Check(*pair) for pair in check_conversions.checks(programs, engine))
    yield "a day", lambda: (Check(*pair) for pair in check_day.checks(programs, engine))
    yield "csv", lambda: (Check(*pair) for pair in check_csv.checks(programs))
    for way in ROOMY:
        yield f"every_macro ({way})", lambda: (Check(*pair) for pair in check_every_macro.checks(programs, engine, way))
        yield f"every_macro ({way})", lambda: (Check(*pair) for pair in check_pftrace.every_macro(programs, engine, way))
        yield f"async_tasks ({way})", lambda: (Check(*pair) for pair in check_async_tasks.checks(programs, engine, way))
        yield f"async_tasks ({way})", lambda: (Check(*pair) for pair in check_pftrace.async_tasks(programs, engine, way))
        yield f"tracing_bridge ({way})", lambda: (Check(*pair) for pair in check_tracing_bridge.checks(programs, engine, way))
        yield f"attributes ({way})", lambda: (Check(*pair) for pair in check_attributes.checks(programs, engine, way))
        yield f"file_search ({way})", lambda: (Check(*pair) for pair in check_file_search.checks(programs, engine, way))


def report(name: str, faults: list[str]) -> bool:
    print(f"{'FAILED' if faults else 'ok'}  {name}", flush=True)
    for fault in faults[:10]:
        print(f"        {fault[:1000]}")
    return not faults


def guarded(faults: Callable[[], list[str]]) -> list[str]:
    try:
        return faults()
    except Exception:  # A reader may fail in any way; that is a fault as well.
        return traceback.format_exc().splitlines()[-10:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--bin", "--engine", "--work"):
        parser.add_argument(option, type=Path, required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    programs = Programs(options.bin.resolve(), options.work.resolve())
    results = []
    for group, checks in groups(programs, options.engine):
        try:
            for check in checks():
                results.append(report(f"{group}: {check.name}", guarded(check.faults)))
        except Exception:
            results.append(report(group, traceback.format_exc().splitlines()[-10:]))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
