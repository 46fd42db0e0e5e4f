"""Async programs under load: the trace has as many operations as the load has requests, and they last as long as the clients measured.

The programs are in async-programs: mini-redis with the bridge of `tracing`, and an axum server with traced futures below the spans of
tower-http. A client measures a request with its connection, whose cost is the difference of client and server in requests that wait for
nothing. Requests wait for 300 ms and more, so that delays of a busy machine are far below the limit of 5 %.
"""

import json
import math
import os
import subprocess
from pathlib import Path

REQUESTS = {"wait": 120, "noop": 60}
ALL = sum(REQUESTS.values())

# A request that waits, and one that does not, are on different sides of this length.
BORDER_NS = 150_000_000
LIMIT = 0.05
# Not p99: with these numbers it is the second longest request, so that one stall of a client decides.
PERCENTILES = (0.1, 0.5, 0.9, 0.95)

# What is wrong, and how the lengths in the trace differ from the measured ones.
Faults = tuple[list[str], list[str]]


def run(*command: object, **environment: str) -> str:
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    return done.stdout


class Archive:
    """The answers of `trace` about an archive."""

    def __init__(self, trace: Path, path: Path) -> None:
        self.trace, self.path = trace, path
        run(trace, "check", path)
        self.stats = self.json("stats")

    def json(self, command: str, *options: str) -> object:
        return json.loads(run(self.trace, command, self.path, "--json", *options))

    def count(self, kind: str, category: str, name: str, role: str | None = None) -> int:
        rows = [row for row in self.stats[kind] if (row["category"], row["name"]) == (category, name)]
        return sum(row["count"] for row in rows if role is None or row["role"] == role)

    def lengths(self, category: str, name: str) -> list[int]:
        """The lengths of operations in nanoseconds."""
        found = self.json("stats", "--slowest", "100000", "-c", category, "-n", name)
        return [row["length_ns"] for row in found if row.get("id") is not None]

    def path_of(self, *selection: str) -> dict[str, object]:
        return self.json("critical-path", *selection)


def percentile(lengths: list[int], share: float) -> int:
    """The smallest length that at least this share of all lengths does not exceed, as in `trace stats`."""
    return sorted(lengths)[max(0, math.ceil(share * len(lengths)) - 1)]


def compare(measured: dict[str, list[int]], traced: list[int]) -> list[str]:
    """Compares percentiles of waiting requests, after the cost of a connection."""
    noops, waiting = ([length for length in traced if (length > BORDER_NS) == is_long] for is_long in (False, True))
    faults = []
    if (len(waiting), len(noops)) != (REQUESTS["wait"], REQUESTS["noop"]):
        return [f"{len(waiting)} requests wait and {len(noops)} do not"]
    connection = percentile(measured["noop"], 0.5) - percentile(noops, 0.5)
    for share in PERCENTILES:
        expected, found = percentile(measured["wait"], share) - connection, percentile(waiting, share)
        print(f"    p{100 * share:g}: {found / 1e6:.2f} ms traced, {expected / 1e6:.2f} ms measured")
        if abs(found - expected) > LIMIT * expected:
            faults.append(f"p{100 * share:g} is {found} ns in the trace, and {expected} ns for the client")
    return faults


def of_counts(found: dict[str, int], expected: int) -> list[str]:
    return [f"{what}: {count} instead of {expected}" for what, count in found.items() if count != expected]


def mini_redis(archive: Archive, measured: dict[str, list[int]]) -> Faults:
    server, client, get, put = "mini_redis::server", "mini_redis::client", "mini_redis::cmd::get", "mini_redis::cmd::set"
    spans = [("async_programs::redis", "request"), (server, "run"), (client, "get"), (client, "set"), (get, "apply"), (put, "apply")]
    counts = {f"operations {category}:{name}": archive.count("async", category, name) for category, name in spans}
    drops = {f"drops of {category}:{name}": archive.count("durations", category, name, "drop") for category, name in spans}
    faults = of_counts({**counts, **drops}, ALL)
    names = {row["name"] for row in archive.stats["instants"]}
    if len(names) > 40:
        faults.append(f"{len(names)} names of events")
    for selection in (("-c", server, "-n", "run"), ("-c", get, "-n", "apply")):
        if not any(part["runs"] for part in archive.path_of(*selection)["path"]):
            faults.append(f"nothing runs on the critical path of {selection}")
    return faults, compare(measured, archive.lengths(server, "run"))


def axum(archive: Archive, measured: dict[str, list[int]]) -> Faults:
    spans = "tower_http::trace::make_span"
    counts = [
        ({"requests": archive.count("async", spans, "request")}, ALL),
        ({name: archive.count("async", "server", name) for name in ("wait",)}, REQUESTS["wait"]),
        ({"queries": archive.count("async", "db", "query")}, REQUESTS["wait"]),
        ({"noops": archive.count("async", "server", "noop")}, REQUESTS["noop"]),
    ]
    polls, drops = (archive.count("durations", spans, "request", role) for role in ("poll", "drop"))
    handled = sum(archive.count("durations", "server", name, "poll") for name in ("wait", "noop"))
    # tower-http enters its span for the call, each poll of the handler and the body, but not to drop them: the last entry is counted as the
    # drop, because it cannot be distinguished from one.
    counts += [({"entries of requests": polls + drops}, 2 * ALL + handled), ({"drops of requests": drops}, ALL)]
    faults = [fault for found, expected in counts for fault in of_counts(found, expected)]
    traced = [*archive.lengths("server", "wait"), *archive.lengths("server", "noop")]
    differences = compare(measured, traced) + compare(measured, archive.lengths(spans, "request"))
    # The path goes from the span of tower-http to the traced futures in it, and waits for the query.
    path = archive.path_of("-c", spans, "-n", "request")["path"]
    queries = [part for part in path if part["name"] == "query" and not part["runs"]]
    if [(query["depth"], query["to_ns"] - query["from_ns"] > BORDER_NS) for query in queries] != [(2, True)]:
        faults.append(f"the path of a request waits for {queries}")
    if not any(part["runs"] and part["name"] == "request" for part in path):
        faults.append("no poll of a span is on its path")
    return faults, differences


PROGRAMS = {"mini-redis": mini_redis, "axum": axum}


def measure(trace: Path, name: str, work: Path) -> Faults:
    manifest = Path(__file__).parent / "async-programs" / "Cargo.toml"
    program = ("cargo", "run", "--quiet", "--locked", "--manifest-path", manifest, "--target-dir", work.parent / "async", "--", name)
    measured = json.loads(run(*program, TRACE_OUTPUT=str(work / "trace.fxt")))
    return PROGRAMS[name](Archive(trace, work / "trace.fxt"), measured)


def check(trace: Path, name: str, work: Path) -> bool:
    work.mkdir(parents=True, exist_ok=True)
    faults, differences = measure(trace, name, work)
    if differences and not faults:
        # A busy machine can delay many requests at once. A fault of the bridge appears again.
        print(f"    {name} is measured again: {differences}")
        faults, differences = measure(trace, name, work)
    faults += differences
    print(f"{'FAILED' if faults else 'ok'}  {name}: {(work / 'trace.fxt').stat().st_size} bytes of FXT")
    for fault in faults:
        print(f"        {fault[:1000]}")
    print(end="", flush=True)
    return not faults
