"""Queries of a store on a cluster of a scheduler and two executors against the same queries without it, and executors that are killed in
the middle of a query."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import against_duckdb
import queries
from against_store import LARGE, QUERIES, S3, Store
from archives import Archive
from cluster import PATIENCE, Cluster, wait_for
from gate import Gate
from program import Query, differences

Check = tuple[str, Callable[[], list[str]], int | None]

# They read a table again for each level of spans, which a cluster cannot divide. The program runs them itself, and says so.
RECURSIVE = ["ancestors", "descendants"]
NOT_DIVIDED = "cannot run the query: it runs here"
# What Perfetto's queries of one archive have and a store does not: no clock of one archive.
OF_ARCHIVES = ["bounds", "time since the start"]
# A query with two stages: its tasks read files, and others join their groups.
GROUPS = "select name, count(*), sum(dur_ns), max(length(name)) from spans group by name order by name"
TEXTS = {
    "functions": """
        select name, arg(args, 'hop'), extract_arg(id, 'hop'), to_realtime(start_ns), to_monotonic(start_ns), glob('*e*', name),
            overlap_ns(start_ns, dur_ns, trace_start(), 1000000000000000) from spans""",
    # The function reads the arguments of each of its rows.
    "values of a key": """
        select key, value_type, extract_arg(arg_set_id, key) from args
        where arg_set_id in (select min(arg_set_id) from slice group by name)
    """,
    "overlaps": """
        select a.name, b.name, count(*), sum(overlap_ns(a.start_ns, a.dur_ns, b.start_ns, b.dur_ns)) from spans a join spans b
        on a.archive = b.archive and a.thread_id = b.thread_id and overlaps(a.start_ns, a.dur_ns, b.start_ns, b.dur_ns) and a.id < b.id
        group by a.name, b.name""",
    "percentiles": "select service, percentile(dur_ns, 90), median(dur_ns) from spans group by service",
    "a subquery": "select name, dur_ns from spans where dur_ns > (select avg(dur_ns) from spans)",
    "names without arguments": """
        select distinct name from spans where id not in (select owner_id from arguments where owner = 'span')""",
    "outer join": "select s.name, a.key from spans s left join arguments a on a.owner_id = s.id",
    "windows": "select name, start_ns, rank() over (partition by thread_id order by dur_ns desc, id) as place from spans",
    "functions of arrays": "select name, array_length(make_array(depth, dur_ns)) from spans",
    "one part": "select count(*) from spans",
    "no rows": "select * from spans where day = '1970-01-01'",
    "no table": "select 1 + 1, trace_end() - trace_start()",
    "union": "select name from spans union all select name from instants",
    "union of unlike parts": """
        select name, dur_ns from spans where dur_ns > 1000 and depth = 0
        union all select name, null from (select name, count(*) from instants group by name)
        union all select name, cast(pid as bigint) from processes""",
    "in order": "select start_ns, name from spans order by start_ns, id limit 100 offset 10",
    "groups in order": GROUPS,
}
# Queries whose rows have one order, beside those of `queries`. In a store, slices of several archives have one time.
IN_ORDER = {"in order", "groups in order"}


@dataclass
class OnCluster(Query):
    """A program whose queries run on a cluster."""

    scheduler: str = ""

    def run(self, store: str, sql: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), store, "--cluster", self.scheduler, "--format", "json", sql]
        environment = os.environ | self.environment
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)

    def start(self, store: str, sql: str) -> subprocess.Popen[str]:
        command = [str(self.program), store, "--cluster", self.scheduler, "--format", "json", sql]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | self.environment)


def checks(query: Query, archives: list[Archive], work: Path) -> Iterator[Check]:
    with S3() as server:
        environment = server.environment()
        store = Store("s3://traces/a cluster/", query, environment)
        store.add([archive for archive in archives if archive.name not in LARGE])
        with Cluster(query.program, work / "cluster") as cluster:
            yield "cluster: without executors", lambda: refusal(query, store, cluster), None
            for _ in range(2):
                cluster.add(environment)
            yield from of_queries(query, store, cluster)
        yield from of_kills(query, store, work, server.endpoint)


def refusal(query: Query, store: Store, cluster: Cluster) -> list[str]:
    run = OnCluster(query.program, store.environment, cluster.address).run(store.name, GROUPS)
    expected = f"the scheduler at {cluster.address} has no executor"
    return [] if run.returncode == 1 and expected in run.stderr else [run.stderr]


def of_queries(query: Query, store: Store, cluster: Cluster) -> Iterator[Check]:
    on_cluster = OnCluster(query.program, store.environment, cluster.address)
    texts = {name: text for name, text in (queries.SLICES | queries.OTHERS | queries.SCHEDULING).items() if name not in OF_ARCHIVES}
    texts = {name: text.replace("{key}", "hop") for name, text in (texts | against_duckdb.QUERIES | QUERIES | TEXTS).items()}
    expected = dict(zip(texts, store.results(list(texts.values()))))
    for name in ready(query):
        texts[name] = name
        command = [str(query.program), store.name, "--format", "json", name]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | store.environment)
        expected[name] = query.rows(run.stdout, 1)[0]
    for name, text in texts.items():
        rows = expected[name]
        # The checks of archives have rows for each of their queries.
        yield f"cluster: {name}", lambda name=name, text=text, rows=rows: compared(on_cluster, store, name, text, rows), len(rows) or None


def ready(query: Query) -> list[str]:
    """The names of the ready queries."""
    listed = subprocess.run([str(query.program), "--list"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^@[\w-]+", listed, re.MULTILINE)


def compared(on_cluster: OnCluster, store: Store, name: str, text: str, expected: list) -> list[str]:
    run = on_cluster.run(store.name, text)
    if run.returncode != 0:
        return [run.stderr[:2000]]
    if (NOT_DIVIDED in run.stderr) != (name in RECURSIVE):
        return [f"stderr: {run.stderr}"]
    in_order = name in queries.IN_ORDER | IN_ORDER
    return differences(expected, on_cluster.rows(run.stdout, 1)[0], in_order=in_order)


def of_kills(query: Query, store: Store, work: Path, endpoint: str) -> Iterator[Check]:
    expected = store.results([GROUPS])[0]
    kinds = ["one that reads", "one that has read", "both"]
    for number, kind in enumerate(kinds):
        with Gate(endpoint) as gate, Cluster(query.program, work / f"killed {number}") as cluster:
            held = cluster.add(store.environment | {"AWS_ENDPOINT": gate.address}, tasks=1)
            other = cluster.add(store.environment, tasks=1)
            gate.is_open.clear()
            running = OnCluster(query.program, store.environment, cluster.address).start(store.name, GROUPS)
            if not gate.is_holding.wait(PATIENCE):
                raise TimeoutError("no executor reads")
            if kind != "one that reads":
                wait_for("rows of the other executor", lambda: rows_of(cluster, 1))
                other.kill()
            if kind != "one that has read":
                held.kill()
            gate.is_open.set()
            output, error = running.communicate(timeout=PATIENCE)
            outcome = (running.returncode, output, error)
        yield f"cluster: killed, {kind}", lambda kind=kind, outcome=outcome: after_kill(query, kind, expected, *outcome), len(expected)


def rows_of(cluster: Cluster, executor: int) -> bool:
    """Whether an executor has written rows for others."""
    return any(path.is_file() for path in (cluster.work / f"executor {executor}").rglob("*"))


def after_kill(query: Query, kind: str, expected: list, code: int, output: str, error: str) -> list[str]:
    """The result is complete, or the message says why there is none."""
    if kind == "both":
        return [] if code == 1 and not output and "all executors were lost" in error else [f"exits with {code}: {error} {output[:100]}"]
    if code == 0:
        return differences(expected, query.rows(output, 1)[0], in_order=True)
    return [f"exits with {code}: {error}"]
