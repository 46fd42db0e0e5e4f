"""Expectations for the output and the archive of the example `file_search`, on a generated directory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import fxt_package
import perfetto
from model import Event, Found
from recordings import Programs, Way, run

TEXT = "needle"
THREADS = 3
ARROWS = f"{perfetto.FLOWS} where o.name = 'push' and i.name = 'search file'"


def checks(programs: Programs, engine: Path, way: Way) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    tree = programs.work / "tree"
    lines = plant(tree)
    archive = programs.work / "file_search.fxt"
    program = [str(programs.example("file_search")), "--threads", str(THREADS)]
    result = programs.record(way, archive, [*program, TEXT, str(tree)])
    files = sum(1 for path in tree.rglob("*") if path.is_file() and ".hidden" not in path.name)
    yield "output", lambda: output_faults(result.returncode, sorted(result.stdout.splitlines()), lines)
    yield "fxt", lambda: archive_faults(fxt_package.read(archive), files, lines)
    yield "perfetto", lambda: perfetto_faults(engine, archive, files)
    sums = run([str(programs.example("argument_sums")), str(archive), "bytes"], {})
    yield "argument_sums", lambda: sums_faults(sums.stdout.splitlines(), tree)
    longest = run([str(programs.example("longest")), str(archive), "read"], {})
    yield "longest", lambda: longest_faults(longest.stdout.splitlines(), fxt_package.read(archive))
    no_match = programs.record(way, archive, [*program, "not there", str(tree)])
    yield "no match", lambda: output_faults(no_match.returncode - 1, no_match.stdout.splitlines(), [])
    wrong = programs.record(way, archive, [*program, TEXT, str(tree / "missing")])
    yield "no directory", lambda: output_faults(wrong.returncode - 2, wrong.stdout.splitlines(), [])


def plant(tree: Path) -> list[str]:
    """Creates the directory, and returns the matching lines."""
    found = []
    for number in range(60):
        directory = tree / f"größe {number % 5}" / f"{number % 3}"
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"file {number}.txt"
        lines = [f"line {line} {TEXT if line % (number + 2) == 1 else 'nneedl'}" for line in range(50)]
        path.write_text("\n".join(lines), encoding="utf-8")
        found += [f"{path}:{line + 1}:{text}" for line, text in enumerate(lines) if TEXT in text]
    (tree / "binary").write_bytes(b"\0" + TEXT.encode())
    (tree / "empty").write_bytes(b"")
    (tree / ".hidden").write_text(TEXT, encoding="utf-8")
    return sorted(found)


def output_faults(status: int, printed: list[str], lines: list[str]) -> list[str]:
    problems = [] if status == 0 else [f"the exit status is off by {status}"]
    return problems + ([] if printed == lines else [f"{len(printed)} lines printed, not {len(lines)}, or others"])


def archive_faults(found: Found, files: int, lines: list[str]) -> list[str]:
    problems = found.faults + ([f"{found.lost} records lost"] if found.lost else [])
    names = Counter(event.name for events in found.events.values() for event in events)
    expected = {"push": files, "search file": files, "read": files, "binary": 1, "hidden": 1, "search": 1, "Search::work": THREADS + 1, "queue": 2 * files}
    problems += [f"{names[name]} of {name}, not {number}" for name, number in expected.items() if names[name] != number]
    threads = sorted(name for _, name in found.threads.values())
    expected_threads = ["file_search", *(f"worker {number}" for number in range(THREADS))]
    problems += [] if threads == expected_threads else [f"threads {threads}, not {expected_threads}"]
    return problems + flow_faults(found, files) + counter_faults(found, len(lines))


def flow_faults(found: Found, files: int) -> list[str]:
    """Each file has an arrow, from its push to its search."""
    begun = ends(found, "flow_begin", "push")
    ended = ends(found, "flow_end", "search file")
    if len(begun) != files or begun.keys() != ended.keys():
        return [f"{len(begun)} arrows begin and {len(ended)} end, not {files} each"]
    return [f"the arrow {flow} ends before it begins" for flow in begun if ended[flow] < begun[flow]]


def ends(found: Found, kind: str, scope: str) -> dict[object, float]:
    times = {}
    for events in found.events.values():
        scopes = [event for event in events if event.name == scope]
        flows = [event for event in events if event.kind == kind]
        times |= {flow.tail: flow.start for flow in flows if any(within(flow, scope) for scope in scopes)}
    return times


def within(event: Event, scope: Event) -> bool:
    return scope.end is not None and scope.start <= event.start <= scope.end


def counter_faults(found: Found, lines: int) -> list[str]:
    counters = [event for events in found.events.values() for event in events if event.kind == "counter"]
    counters.sort(key=lambda event: event.start)
    most = max(event.args["lines"] for event in counters if event.name == "found")
    queue = [event.args["files"] for event in counters if event.name == "queue"]
    problems = [] if most == lines else [f"the counter has {most} lines, not {lines}"]
    return problems + ([] if queue[-1] == 0 and min(queue) >= 0 else [f"the queue ends with {queue[-1]} files"])


def sums_faults(printed: list[str], tree: Path) -> list[str]:
    """The sum of the searched bytes is printed."""
    searched = [path.stat().st_size for path in tree.rglob("*") if path.is_file() and path.suffix == ".txt" or path.name == "empty"]
    expected = f"matching lines: bytes = {sum(searched)} in {len(searched)} events"
    problems = [] if expected in printed else [f"{printed}, not {expected}"]
    return problems + ([] if printed and printed[-1].endswith(" records read, 0 lost while recording") else [f"at its end {printed}"])


def longest_faults(printed: list[str], found: Found) -> list[str]:
    """The longest time of each thread that read a file. For whole events it is known here too, to the nanosecond."""
    longest = dict(re.fullmatch(r"thread (\d+): (\d+) ns", line).groups() for line in printed[:-1])
    faults = [] if longest else [f"no threads: {printed}"]
    for thread, events in found.events.items():
        lengths = [event.end - event.start for event in events if event.name == "read" and event.end is not None]
        in_two = any(event.kind == "duration_begin" and event.name == "read" for event in events)
        beyond = int(longest.get(str(thread), 0)) - max(lengths, default=0)
        faults += [] if abs(beyond) <= 1 or (in_two and beyond > 0) else [f"thread {thread} is off by {beyond} ns"]
    return faults


def perfetto_faults(engine: Path, archive: Path, files: int) -> list[str]:
    errors, arrows, threads = perfetto.query(engine, archive, [perfetto.ERRORS, ARROWS, perfetto.THREADS])
    problems = [f"import error: {error}" for error in errors]
    problems += [] if len(arrows) == files else [f"{len(arrows)} arrows from push to search file, not {files}"]
    names = sorted(name for _, _, name, _ in threads)
    return problems + ([] if names[1:] == [f"worker {number}" for number in range(THREADS)] else [f"threads {names}"])
