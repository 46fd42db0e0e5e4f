#!/usr/bin/env python3
"""Prints the rates, sizes and times of `trace query` and `trace lake`, as tables of Markdown.

    benches/lake/figures.py --bin target/release --query target/lake/release/trace-query --work DIR [--spans 200_000_000] [--engine DIR]
        [--adders 2] [--rounds 3]

The archive is a recording of the example `file_search` over `--tree`, which is repeated over a day of a store, each time with other bytes, until
the store has `--spans` spans. Compile the programs with `cargo build --release --workspace --bins --examples` and `CARGO_TARGET_DIR=target/lake
cargo build --release --manifest-path trace-lake/Cargo.toml`. The store takes about 6 bytes a span for spans, and as much again for the other
tables and for the files before their compaction. Nothing else may run on the machine.

200 million spans take about half an hour with `--adders 2 --rounds 3` on two processors, and 15 GB in `--work`. One more addition, before the
others, is measured alone.

With `--engine`, the folder of Perfetto's trace processor (`.ci/query` installs it), queries of one archive are compared with it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / "tests/readers"), str(REPOSITORY / "tests/query")]

import fxt_bytes  # noqa: E402

# The day that the archive is repeated over, and its length in seconds.
DAY = "2026-11-29"
SECONDS = 86_400
COLUMNS = "max(id), max(parent_id), max(depth), max(name), max(category), max(tid), max(start_ns), max(dur_ns)"
MINUTE = f"""start_ns >= arrow_cast(timestamp '{DAY} 12:00:00', 'Int64') and start_ns < arrow_cast(timestamp '{DAY} 12:01:00', 'Int64')"""

RATES = {
    "with parents and depths": f"select {COLUMNS} from spans",
    "time, duration and name": "select max(start_ns), max(dur_ns), max(name) from spans",
}

QUERIES = {
    "count": "select count(*) from spans",
    "names": "select name, count(*), sum(dur_ns), max(dur_ns) from spans group by name order by 3 desc",
    "percentiles": "select name, approx_percentile_cont(dur_ns, 0.5), approx_percentile_cont(dur_ns, 0.99) from spans group by name",
    "longest": "select name, dur_ns, start_ns from spans order by dur_ns desc limit 20",
    "one minute": f"select name, count(*), sum(dur_ns) from spans where {MINUTE} group by name",
    "hours": "select start_ns / 3600000000000 as hour, count(*), avg(dur_ns) from spans group by hour order by hour",
    "one thread": "select count(*), sum(dur_ns) from spans where depth = 0 and name = 'search file'",
    "hosts": "select day, host, service, count(*) from spans group by day, host, service",
    "self time": "select name, sum(self_ns) from spans group by name order by 2 desc limit 10",
    "text": "select count(*) from spans where name like '%read%' and dur_ns > 1000000",
}

# Queries of one archive that the trace processor has, too.
SLICES = {
    "count": "select count(*) from slice",
    "names": "select name, count(*), sum(dur), max(dur) from slice group by name order by 3 desc",
    "longest": "select name, dur, ts from slice order by dur desc limit 20",
    "parents": "select parent.name, count(*) from slice join slice parent on slice.parent_id = parent.id group by parent.name order by 2",
    "threads": """
        select tid, count(*), sum(dur) from slice join thread_track on track_id = thread_track.id join thread using (utid)
        where depth = 0 group by tid order by tid""",
}


@dataclass
class Run:
    """A command that has ended."""

    output: str
    seconds: float
    # The time of processors, in seconds.
    processor: float
    # The largest resident memory, in MiB.
    memory: float
    # What it has read from files, in bytes.
    read: int


def run(command: list[str], text: str = "") -> Run:
    """Runs a command with a short text as its input."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(text)
    process.stdin.close()
    output = process.stdout.read()
    # The numbers of an ended process are there until it is waited for.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seconds = time.perf_counter() - begin
    read = int(re.search(r"rchar: (\d+)", Path(f"/proc/{process.pid}/io").read_text())[1])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise RuntimeError(f"{command}: exits with {process.returncode}")
    return Run(output, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, read)


class Figures:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.query = str(options.query)
        self.store = str(options.work / "store")
        self.archive = options.work / "search.fxt"
        self.long = options.work / "long.fxt"

    def sql(self, subject: Path | str, text: str) -> Run:
        return run([self.query, str(subject), "--format", "csv", text])

    def number(self, subject: Path | str, text: str) -> int:
        return int(self.sql(subject, text).output.splitlines()[1])

    def record(self, archive: Path, times: int = 1) -> int:
        """Records the example as often, and returns its spans."""
        program = [str(self.options.bin / "examples/file_search"), "no such text", str(self.options.tree)]
        again = ["sh", "-c", 'times=$1; shift; for _ in $(seq "$times"); do "$@"; done', "sh", str(times)]
        command = [str(self.options.bin / "trace"), "record", "-b", "256M", "-o", str(archive), "--", *again, *program]
        subprocess.run(command, capture_output=True, check=False)
        return self.number(archive, QUERIES["count"])

    def of_archive(self, spans: int) -> None:
        memory = 0.0
        compressed = self.archive.with_suffix(".fxt.zst")
        subprocess.run([str(self.options.bin / "trace"), "slice", str(self.archive), "-o", str(compressed)], capture_output=True, check=True)
        # The start of the program takes as long as a million spans, so the rates are those of more.
        long = self.record(self.long, -(-self.options.long // spans))
        rates = {}
        for what, text in RATES.items():
            runs = [self.sql(self.long, text) for _ in range(self.options.rounds)]
            rates[what] = [long / min(times) / 1e6 for times in ([run.seconds for run in runs], [run.processor for run in runs])]
            memory = max([run.memory for run in runs] + [memory])
        print("| an archive | value |\n|---|---|")
        print(f"| spans | {spans:,} |")
        print(f"| FXT, bytes a span | {self.archive.stat().st_size / spans:.1f} |")
        print(f"| .fxt.zst, bytes a span | {compressed.stat().st_size / spans:.1f} |")
        print(f"| spans of the longer archive | {long:,} |")
        for what, (wall, processor) in rates.items():
            print(f"| into Arrow, {what}, million spans/s | {wall:.2f} |")
            print(f"| into Arrow, {what}, million spans a second of processor time | {processor:.2f} |")
        print(f"| memory, MiB | {memory:.0f} |\n")

    def beside_perfetto(self) -> None:
        """Reads and queries the longer archive with the trace processor as well."""
        archive = self.long
        spans = self.number(archive, QUERIES["count"])
        script = str(REPOSITORY / "tests/readers/perfetto.js")
        command = ["node", script, str(self.options.engine), str(archive)]
        [[[other]]] = json.loads(run(command, json.dumps([SLICES["count"]])).output)
        if (own := self.number(archive, SLICES["count"])) != int(other):
            raise RuntimeError(f"{archive}: {own} slices, in the trace processor {other}")
        runs = [run([*command, "--times"], json.dumps(list(SLICES.values()))) for _ in range(self.options.rounds)]
        reading, *times = (statistics.median(column) for column in zip(*(json.loads(run.output) for run in runs)))
        print(f"{spans:,} spans in {archive.stat().st_size:,} bytes. The trace processor reads them in {reading:.2f} s before the first query.\n")
        print("| query | trace processor, s | with reading, s | `trace query`, s | memory of each, MiB |\n|---|---|---|---|---|")
        for (name, text), seconds in zip(SLICES.items(), times):
            own = [self.sql(archive, text) for _ in range(self.options.rounds)]
            memory = [max(run.memory for run in runs) for runs in (runs, own)]
            median = statistics.median(run.seconds for run in own)
            print(f"| {name} | {seconds:.2f} | {reading + seconds:.2f} | {median:.2f} | {memory[0]:.0f}, {memory[1]:.0f} |")
        print()

    def fill(self, spans: int) -> None:
        """Repeats the archive over the day."""
        copies = max(1, round(self.options.spans / spans))
        bytes_of_archive = self.archive.read_bytes()

        def add(number: int) -> Run:
            path = self.options.work / f"copy {number}.fxt"
            # A name of a provider that has no records makes another archive of it.
            path.write_bytes(bytes_of_archive + fxt_bytes.provider(9, f"copy {number:>6}"))
            at = int(number * SECONDS / copies)
            when = f"{DAY}T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z"
            labels = ["--host", f"web-{number % 4}", "--service", "search", "--time", when]
            added = run([self.query, "--lake", "add", self.store, str(path), *labels])
            path.unlink()
            return added

        first = add(0)
        begin = time.perf_counter()
        with ThreadPoolExecutor(self.options.adders) as adders:
            added = list(adders.map(add, range(1, copies)))
        seconds = time.perf_counter() - begin
        memory = max(run.memory for run in [first, *added])
        total = self.number(self.store, QUERIES["count"])
        print("| a store | value |\n|---|---|")
        print(f"| archives | {copies:,} |\n| spans | {total:,} |")
        print(f"| addition, million spans/s | {spans / first.seconds / 1e6:.2f} |\n| addition, memory, MiB | {memory:.0f} |")
        if added:
            print(f"| {self.options.adders} additions at once, million spans/s | {(total - spans) / seconds / 1e6:.2f} |")
        self.sizes(total, "before compaction")
        compacted = run([self.query, "--lake", "compact", self.store, "--delete-after", "0s"])
        print(f"| compaction, million spans/s | {total / compacted.seconds / 1e6:.2f} |\n| compaction, memory, MiB | {compacted.memory:.0f} |")
        self.sizes(total, "compacted")
        print()

    def sizes(self, spans: int, when: str) -> None:
        files = [Path(line) for line in run([self.query, "--lake", "list", self.store, "--files"]).output.splitlines()]
        of_spans = [file for file in files if file.is_relative_to(Path(self.store) / "spans")]
        size = lambda files: sum(file.stat().st_size for file in files) / spans  # noqa: E731
        print(f"| files, {when} | {len(files):,} |")
        print(f"| table `spans`, bytes a span, {when} | {size(of_spans):.2f} |")
        print(f"| all tables, bytes a span, {when} | {size(files):.2f} |")

    def queries(self) -> None:
        print("| query | median, s | slowest, s | memory, MiB | read, MiB |\n|---|---|---|---|---|")
        for name, text in QUERIES.items():
            runs = [self.sql(self.store, text) for _ in range(self.options.rounds)]
            seconds = sorted(run.seconds for run in runs)
            memory, read = max(run.memory for run in runs), min(run.read for run in runs) / (1 << 20)
            print(f"| {name} | {statistics.median(seconds):.2f} | {seconds[-1]:.2f} | {memory:.0f} | {read:.1f} |")
        everything = sum(path.stat().st_size for path in Path(self.store, "spans").rglob("*.parquet"))
        log = self.sql(self.store, "select 1").read
        minute = self.sql(self.store, QUERIES["one minute"]).read - log
        print(f"\nOne minute of the day: {minute:,} bytes of {everything:,} of the table `spans`, {100 * minute / everything:.2f} %.\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--bin", "--query", "--work"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--tree", type=Path, default=Path("/usr"), help="the directory that the example searches")
    parser.add_argument("--spans", type=int, default=2_000_000, help="the spans of the store")
    parser.add_argument("--engine", type=Path, help="the folder of Perfetto's trace processor")
    parser.add_argument("--long", type=int, default=5_000_000, help="the spans of the archive whose reading is measured")
    parser.add_argument("--adders", type=int, default=1, help="how many archives are added at once")
    parser.add_argument("--rounds", type=int, default=5, help="how often each query runs")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if (options.work / "store").exists():
        parser.error(f"{options.work / 'store'} exists")
    figures = Figures(options)
    spans = figures.record(figures.archive)
    figures.of_archive(spans)
    if options.engine:
        figures.beside_perfetto()
    figures.fill(spans)
    figures.queries()


if __name__ == "__main__":
    main()
