"""A store of several archives: DuckDB on its Parquet files, with the partitions that their folders name, against trace-query; a store
in a folder against one in an object storage that speaks the protocol of Amazon S3."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import against_duckdb
import duckdb
from archives import CLOCK, Archive
from cluster import wait_for
from gate import Gate
from program import Query, differences
from recordings import Programs, clean_environment, run, succeeds

HOSTS = ["web 1", "web/2", "db=ü"]
# The labels of an archive join the tables, whose ids differ in all archives of a store.
QUERIES = {
    "labels": "select cast(day as varchar), host, service, version, count(*), count(distinct archive) from spans group by 1, 2, 3, 4",
    "one host": "select name, count(*), sum(dur_ns) from spans where host = 'web/2' group by name",
    "one hour of each archive": """
        select s.archive, count(*) from spans s join archives a on s.archive = a.archive
        where s.start_ns between a.start_ns and a.start_ns + 1000000 group by s.archive""",
    "unique ids": "select count(*), count(distinct id), count(distinct thread_id), count(distinct parent_id) from spans",
}
# Archives that take long.
LARGE = ["search", "redis"]
# Queries of the store in an object storage, which has fewer archives.
REMOTE = ["spans", "arguments", "archives", "labels", "one host"]
PLAIN = [name for name in against_duckdb.QUERIES if name != "arguments of spans"]


@dataclass
class Store:
    """A store, and how it is reached."""

    name: str
    query: Query
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str) -> str:
        command = [str(self.query.program), "--lake", *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=os.environ | self.environment)
        if run.returncode not in (0, 3):
            raise RuntimeError(f"{command}: exits with {run.returncode}: {run.stderr[:2000]}")
        return run.stdout

    def add(self, archives: list[Archive]) -> None:
        for number, archive in enumerate(archives):
            kind = number % len(HOSTS)
            labels = ["--host", HOSTS[kind], "--service", "a service", "--version", f"v{number}", "--time", f"2026-11-0{kind + 1}T10:00:00Z"]
            self.run("add", self.name, str(archive.path), *labels)

    def files(self) -> list[str]:
        return self.run("list", self.name, "--files").splitlines()

    def results(self, queries: list[str]) -> list:
        return Query(self.query.program, self.environment).results(self.name, queries)


def checks(programs: Programs, query: Query, archives: list[Archive], work: Path) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    shutil.rmtree(work, ignore_errors=True)
    archives = [archive for archive in archives if archive.name not in LARGE]
    store = Store(str(work / "store"), query)
    store.add(archives)
    texts = {name: against_duckdb.QUERIES[name] for name in PLAIN} | QUERIES
    found = store.results(list(texts.values()))
    yield from of_files("DuckDB", store, texts, found)
    before = len(store.files())
    store.run("compact", store.name, "--delete-after", "0s")
    yield "a compaction joins files", lambda: [] if len(store.files()) < before else [f"{len(store.files())} of {before} files"], None
    yield from of_files("DuckDB, compacted", store, texts, store.results(list(texts.values())))
    yield from documented(programs, query, work / "documented")
    with S3() as server:
        large = next(archive for archive in archives[4:] if archive.name == "file_search")
        yield from of_objects(query, archives[:4], large, work, server)


def of_objects(query: Query, archives: list[Archive], late: Archive, work: Path, server: S3) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    """The results of a store in an object storage are those of one in a folder."""
    texts = {name: (against_duckdb.QUERIES | QUERIES)[name] for name in REMOTE}
    local, remote = Store(str(work / "few"), query), Store("s3://traces/all of them/", query, server.environment())
    local.add(archives)
    remote.add(archives)
    expected = local.results(list(texts.values()))
    for what in ("S3", "S3, added again", "S3, compacted"):
        if what == "S3, added again":
            remote.add(archives)
        if what == "S3, compacted":
            remote.run("compact", remote.name, "--delete-after", "0s")
        for (name, _), own, other in zip(texts.items(), expected, remote.results(list(texts.values()))):
            yield f"{what}: {name}", lambda own=own, other=other: differences(own, other), len(own)
    yield "S3: refused", lambda: refused(remote), None
    yield from of_storage_that_hangs(remote, late, server)


def of_files(what: str, store: Store, texts: dict[str, str], found: list) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    database = duckdb.connect()
    tables: dict[str, list[str]] = {}
    for file in store.files():
        tables.setdefault(Path(file).relative_to(store.name).parts[0], []).append(file)
    for table, files in tables.items():
        database.execute(f"create view {table} as select * from read_parquet({files}, hive_partitioning = true)")
    for (name, text), own in zip(texts.items(), found):
        used = re.findall(r"\b(?:from|join) (\w+)", text)
        if all(table in tables for table in used):
            yield f"{what}: {name}", lambda text=text, own=own: differences(against_duckdb.rows(database, text), own), len(own)


def refused(store: Store) -> list[str]:
    """The message of a storage that refuses access names the object."""
    wrong = Store("s3://missing/store", store.query, store.environment)
    try:
        wrong.results(["select 1"])
    except RuntimeError as error:
        return [] if "cannot list s3://missing/store/log" in str(error) else [str(error)]
    return ["a missing bucket is a store"]


def of_storage_that_hangs(remote: Store, archive: Archive, server: S3) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    """A storage that accepts requests and does not answer: commands end with the object's name, and nothing is half visible."""
    count = ["select count(*), count(distinct archive) from spans"]
    before = remote.results(count)
    with Gate(server.endpoint) as gate:
        held = Store(remote.name, remote.query, remote.environment | {"AWS_ENDPOINT": gate.address, "AWS_TIMEOUT": "300ms"})
        gate.is_open.clear()
        yield "S3 hangs: a query", lambda: failure(lambda: held.results(count), "cannot list s3://traces/all of them/log"), None
        add = ["add", held.name, str(archive.path), "--host", "late"]
        # The first bytes of the archive's tables arrive.
        gate.closes_after = 20_000
        gate.is_open.set()
        yield "S3 hangs: an addition", lambda: failure(lambda: held.run(*add), "cannot write s3://traces/all of them/"), None
    yield "S3 hung: nothing is half visible", lambda: differences(before[0], remote.results(count)[0]), None


def failure(action: Callable[[], object], message: str) -> list[str]:
    """The faults of what has to fail with this message."""
    try:
        action()
    except RuntimeError as error:
        return [] if message in str(error) else [str(error)]
    return ["nothing fails"]


def documented(programs: Programs, query: Query, work: Path) -> Iterator[tuple[str, Callable[[], list[str]], int | None]]:
    """The commands of the page that add what a daemon records: snapshots of a trigger, and parts."""
    page = (Path(__file__).resolve().parents[2] / "docs/lake.md").read_text(encoding="utf-8")
    work.mkdir(parents=True, exist_ok=True)
    path = f"{programs.bin}:{query.program.parent}:{os.environ['PATH']}"
    place = {"/srv/traces": str(work / "store"), "/var/lib/trace": str(work)}

    def placed(command: str) -> str:
        for documented_place, own in place.items():
            command = command.replace(documented_place, own)
        return command

    def shell(command: list[str]) -> None:
        succeeds(run(command, clean_environment() | CLOCK | {"PATH": path}))

    trigger = json.loads(re.search(r"^trigger = (\[.*\])$", page, re.MULTILINE)[1])[0]
    trigger = placed(trigger.replace("http/request>50ms", "example/main>1ns"))
    record = [str(programs.trace), "record", "-m", "circular", "--trigger", trigger, "-o", str(work / "flight.fxt")]
    shell([*record, "--", str(programs.example("every_macro"))])
    store = Store(str(work / "store"), query)
    sql = "select host, count(*) from archives group by host"
    yield "a snapshot of a trigger is added", lambda found=store.results([sql])[0]: differences([[os.uname().nodename, 1]], found), 1
    session = re.search(r"^\[session\.all\]\n(?:\w.*\n)+", page, re.MULTILINE)[0]
    with Daemon(programs, work, placed(session).replace("64M", "1ms").replace("keep = 10", "keep = 1000"), {"PATH": path}) as daemon:
        daemon.record("all", str(programs.example("known_events")))
        parts = sorted(work.glob("all.*.fxt"))
        archives = lambda: json.loads(store.run("list", store.name, "--archives", "--json"))  # noqa: E731
        # Beside that of the trigger.
        wait_for("the parts in the store", lambda: len(archives()) > len(parts))
    count = "select count(*) from spans"
    expected = sum(query.results(part, [count])[0][0][0] for part in parts)
    several = [] if len(parts) > 1 else ["one part"]
    texts = f"{count} where service = 'all'"
    yield "a daemon adds its parts", lambda found=store.results([texts])[0]: differences([[expected]], found) + several, expected
    add = placed(re.search(r"^trace lake add /srv/traces /var.*$", page, re.MULTILINE)[0])
    shell(["/bin/sh", "-c", add])
    yield "parts are added once", lambda: differences([[expected]], store.results([texts])[0]), expected


class Daemon:
    """A daemon with a configuration, in a directory."""

    def __init__(self, programs: Programs, work: Path, configuration: str, environment: dict[str, str]) -> None:
        self.log = work / "trace-daemon.log"
        (work / "daemon.toml").write_text(configuration, encoding="utf-8")
        socket = str(work / "manager.sock")
        self.environment = clean_environment() | CLOCK | environment | {"TRACE_SOCKET": socket, "TRACE_CONFIG": ""}
        self.trace = str(programs.trace)
        self.daemon = [self.trace, "daemon", "--socket", socket, "--dir", str(work)]
        self.start = [*self.daemon, "--config", str(work / "daemon.toml"), "--background"]

    def __enter__(self) -> Daemon:
        succeeds(run(self.start, self.environment))
        return self

    def __exit__(self, *_: object) -> None:
        succeeds(run([*self.daemon, "--stop"], self.environment))

    def record(self, session: str, program: str) -> None:
        """Runs a program while a session of the configuration records, and ends the session."""
        wait_for("the session", lambda: f"session {session} records" in self.log.read_text(encoding="utf-8"))
        succeeds(run([program], self.environment))
        succeeds(run([self.trace, "stop", session], self.environment))


class S3:
    """A server of objects on a port of this machine."""

    def __enter__(self) -> S3:
        code = (
            "import sys; from moto.server import ThreadedMotoServer; server = ThreadedMotoServer('127.0.0.1', 0, verbose=False); "
            "server.start(); print(server.get_host_and_port()[1], flush=True); sys.stdin.read()"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.server = subprocess.Popen([sys.executable, "-c", code], text=True, **pipes)
        self.endpoint = f"http://127.0.0.1:{int(self.server.stdout.readline())}"
        # A bucket of the region us-east-1.
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/traces", method="PUT")).close()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stdin.close()
        self.server.wait(30)

    def environment(self) -> dict[str, str]:
        access = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        return access | {"AWS_ENDPOINT": self.endpoint, "AWS_ALLOW_HTTP": "true"}
