"""A day in the life of a daemon: programs that come and go, three sessions at once beside a flight recorder, slow requests, parts, a kill of the
daemon and its restart, after which two of the sessions go on, and a configuration that is read again. What each program is known to have committed
is in the archives, as independent readers find it.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fxt.reader import parse_records

import fxt_package
import perfetto
from model import Event
from recordings import Programs, clean_environment, succeeds

# The flight recorder starts with each daemon. It takes a snapshot of requests of more than 50 ms.
CONFIGURATION = """
[session.flight]
mode = "circular"
output = "out.fxt"
buffer-size = "1M"
trigger = ["duration:web/request>50ms"]
"""
# What is added for a running daemon.
ADDITION = """
[groups]
endings = ["end*", "-endless"]

[session.added]
categories = ["#endings"]
output = "added.fxt"
"""
PATIENCE = 600
# The archives beside parts and snapshots. A later one of a name renames the earlier one.
ARCHIVES = ("copy", "ends", "ends.2", "kept", "kept.2", "added", "out.fxt.old", "out")


class Site:
    """A daemon and its programs, in a directory of their own."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self.directory = programs.work / "day"
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir()
        (self.directory / "daemon.toml").write_text(CONFIGURATION, encoding="utf-8")
        self.environment = clean_environment() | {"TRACE_SOCKET": str(self.directory / "manager.sock"), "TRACE_CONFIG": ""}
        self.daemon: subprocess.Popen | None = None
        self.publishers: list[subprocess.Popen] = []

    def path(self, name: str) -> Path:
        return self.directory / name

    def start_daemon(self, *options: str) -> None:
        command = [str(self.programs.trace), "daemon", "--socket", str(self.path("manager.sock")), "--dir", str(self.directory), *options]
        with self.path("daemon.log").open("ab") as log:
            self.daemon = subprocess.Popen(command, env=self.environment, stderr=log)
        until("the daemon answers", lambda: self.trace("status").returncode == 0)

    def end_daemon(self, number: signal.Signals) -> int:
        self.daemon.send_signal(number)
        return self.daemon.wait(PATIENCE)

    def add_to_configuration(self) -> None:
        """Lets the daemon read a longer configuration."""
        self.path("daemon.toml").write_text(CONFIGURATION + ADDITION, encoding="utf-8")
        self.daemon.send_signal(signal.SIGHUP)
        until("the session of the new configuration records", lambda: "added" in self.sessions("started"))

    def trace(self, *arguments: str) -> subprocess.CompletedProcess:
        command = [str(self.programs.trace), *arguments]
        return subprocess.run(command, env=self.environment, cwd=self.directory, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def start_session(self, name: str, *options: str) -> None:
        succeeds(self.trace("start", "--name", name, "-o", f"{name}.fxt", *options))

    def run(self, *role: str) -> int:
        """Runs a program to its end. Returns its exit status."""
        return subprocess.run([str(self.programs.example("subject")), *role], env=self.environment, capture_output=True, timeout=PATIENCE).returncode

    def publish(self) -> None:
        """Starts a program that records numbered events, and stores their number."""
        number = len(self.publishers)
        command = [str(self.programs.example("subject")), "publish", str(number), str(self.path(f"{number}.numbers")), "20000"]
        program = subprocess.Popen(command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert program.stdout.readline() == b"ready\n"
        self.publishers.append(program)

    def published(self) -> list[int]:
        """The number of events of each program so far."""
        return [int.from_bytes(self.path(f"{number}.numbers").read_bytes(), "little") for number in range(len(self.publishers))]

    def is_complete(self) -> bool:
        return not any(path.name.endswith(".partial") for path in self.directory.iterdir())

    def sessions(self, state: str | None = None) -> set[str]:
        """The names of the sessions that are in this state, or of all."""
        result = self.trace("status", "--json")
        found = json.loads(result.stdout) if result.returncode == 0 else []
        return {session["name"] for session in found if state in (None, session["state"])}

    def has_all(self, session: str) -> bool:
        """Whether a session has events of each program that publishes."""
        snapshot = self.path("probe.fxt")
        succeeds(self.trace("snapshot", session, "-o", str(snapshot)))
        found = {event.args["program"] for event in events(snapshot)}
        snapshot.unlink()
        return found == set(range(len(self.publishers)))

    def end(self) -> None:
        for program in [*self.publishers, *([self.daemon] if self.daemon else [])]:
            program.kill()
            program.wait()


def until(what: str, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)


@dataclass
class Day:
    """What happened: the numbers of events of each program at some times, and exit statuses."""

    # At the start of the sessions, before a snapshot, and before the kill.
    first: list[int]
    copied: list[int]
    committed: list[int]
    # When both programs are recorded again, and before the end of that.
    first_again: list[int]
    committed_again: list[int]
    statuses: list[int]


def checks(programs: Programs, engine: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    site = Site(programs)
    try:
        day = live(site)
    finally:
        site.end()
    parts = sorted(site.directory.glob("parts.*.fxt"), key=lambda path: int(path.suffixes[0][1:]))
    snapshots = sorted(site.directory.glob("out-snapshot-*.fxt"))
    yield "exit statuses", lambda: same([-signal.SIGABRT, 0, 0, 0, 0, 0, 0], day.statuses)
    yield "parts", lambda: [] if len(parts) > 2 else [f"{len(parts)} parts"]
    yield "numbered events in parts", lambda: numbered(parts, day.first, day.committed)
    yield "numbered events in a snapshot of parts", lambda: numbered([site.path("copy.fxt")], day.first, day.copied)
    yield "numbered events in a session that goes on", lambda: numbered([site.path("kept.fxt")], day.first, day.committed)
    yield "numbered events after the restart", lambda: numbered([site.path("kept.2.fxt")], day.first_again, day.committed_again)
    yield "no event in two parts of a session", lambda: repeated([site.path("kept.fxt"), site.path("kept.2.fxt")])
    yield "programs that end, fork and execute others", lambda: same(ENDED, names(site.path("ends.fxt")))
    yield "another session that goes on", lambda: same(AGAIN, names(site.path("ends.2.fxt")))
    yield "a session of a configuration that is read again", lambda: same(AGAIN, names(site.path("added.fxt")))
    for name in ("ends", "kept"):
        yield f"the gap in {name}", lambda name=name: gap(site, name)
    yield "the snapshots of slow requests", lambda: same(2, len(snapshots)) + [fault for it in snapshots for fault in slow_request(it)]
    yield "the flight recorder, which is back", lambda: slow_request(site.path("out.fxt"))
    for archive in [*parts, *snapshots, *(site.path(name if ".fxt" in name else f"{name}.fxt") for name in ARCHIVES)]:
        yield f"perfetto, {archive.name}", lambda archive=archive: perfetto.errors(engine, archive)
        yield f"trace check, {archive.name}", lambda archive=archive: malformed(programs, archive)


def live(site: Site) -> Day:
    site.publish()
    configuration = ("--config", str(site.path("daemon.toml")))
    site.start_daemon(*configuration)
    site.publish()
    until("both programs are registered", lambda: len(json.loads(site.trace("list", "providers", "--json").stdout)) == 2)
    site.start_session("parts", "-c", "publish", "--rotate", "300ms")
    site.start_session("ends", "-c", "end,fork", "-m", "oneshot", "--keep-alive")
    site.start_session("kept", "-c", "publish", "--keep-alive")
    first = [number + 1 for number in site.published()]
    statuses = [site.run(*role) for role in (("end", "abort"), ("exec",), ("fork", "init"), ("watched", "scope", str(site.directory)))]
    until("the third part is complete", lambda: site.path("parts.3.fxt").exists())
    copied = site.published()
    succeeds(site.trace("snapshot", "parts", "-o", "copy.fxt"))
    committed = site.published()
    site.end_daemon(signal.SIGKILL)
    until("the guards complete the archives", site.is_complete)
    site.start_daemon(*configuration)
    until("two sessions go on beside the flight recorder", lambda: site.sessions("started") == {"ends", "kept", "flight"})
    until("both programs are recorded", lambda: site.has_all("kept"))
    first_again = [number + 1 for number in site.published()]
    site.add_to_configuration()
    statuses += [site.run("end", "recorded"), site.run("watched", "scope", str(site.directory))]
    until("the second snapshot is complete", lambda: len(list(site.directory.glob("out-snapshot-*.fxt"))) == 2)
    committed_again = site.published()
    succeeds(site.trace("stop", "ends"))
    statuses.append(site.end_daemon(signal.SIGTERM))
    return Day(first, copied, committed, first_again, committed_again, statuses)


# The program that is executed ends as the crashed one begins.
ENDED = Counter({("first", None): 2, ("last", None): 2, ("before exec", None): 1}) + Counter(
    [("parent", number) for number in range(21)] + [("child", number) for number in range(1, 21)]
)
AGAIN = Counter({("first", None): 1, ("last", None): 1})


def events(archive: Path) -> list[Event]:
    found = fxt_package.read(archive)
    if found.faults:
        raise RuntimeError(f"{archive.name}: {found.faults}")
    return [event for thread in found.events.values() for event in thread]


def manager_events(archive: Path) -> list[str]:
    with archive.open("rb") as file:
        manager = parse_records(file).records_by_provider.get(0)
    records = manager.records if manager else []
    return [record.name for record in records if type(record).__name__.endswith("EventRecord")]


def names(archive: Path) -> Counter:
    """The events of an archive by name and number, but those of a thread that runs all the time."""
    found = [event for event in events(archive) if event.name != "bystander"]
    return Counter((event.name, event.args.get("number")) for event in found)


def numbered(archives: list[Path], first: list[int], committed: list[int]) -> list[str]:
    """The archives have each event once, from those after the start to those before the kill."""
    found = [event for archive in archives for event in events(archive)]
    others = {event.category for event in found} - {"publish"}
    faults = [f"events of {others}"] if others else []
    for program, (start, end) in enumerate(zip(first, committed)):
        numbers = Counter(event.args["number"] for event in found if event.args["program"] == program)
        missing = set(range(start, end)) - numbers.keys()
        repeated = [number for number, times in numbers.items() if times > 1]
        faults += [f"program {program} lacks {sorted(missing)[:5]}"] if missing else []
        faults += [f"program {program} repeats {repeated[:5]}"] if repeated else []
        faults += [] if end > start else [f"program {program} has no events"]
    return faults


def repeated(archives: list[Path]) -> list[str]:
    """No numbered event is in two of the archives, or twice in one."""
    found = [(event.args["program"], event.args["number"]) for archive in archives for event in events(archive)]
    return [f"events {[it for it, times in Counter(found).items() if times > 1][:5]} are repeated"] if len(set(found)) < len(found) else []


def gap(site: Site, name: str) -> list[str]:
    """The part after the restart reports the time between, and the earlier one does not."""
    # Programs report the times at which another session joins.
    found = [manager_events(site.path(f"{name}{part}.fxt")).count("recording interrupted") for part in ("", ".2")]
    return same([0, 1], found)


def slow_request(archive: Path) -> list[str]:
    """It is there, and so are the events before it."""
    found = [event for event in events(archive) if event.category == "web"]
    before = [event.args["number"] for event in found if event.name == "before"]
    # A scope during which its buffer was handed over is a begin and an end.
    requests = sorted(event.kind for event in found if event.name == "request")
    is_one = requests in (["duration_complete"], ["duration_begin", "duration_end"])
    return same(list(range(50)), before) + ([] if is_one else [f"the request is {requests}"])


def malformed(programs: Programs, archive: Path) -> list[str]:
    result = programs.check(archive)
    # The crashed program has open scopes, and a session that was interrupted reports it.
    return [] if result.returncode in (0, 3) else [f"exits with {result.returncode}: {result.stdout}{result.stderr}"]


def same(expected: object, found: object) -> list[str]:
    return [] if expected == found else [f"{found}, not {expected}"]
