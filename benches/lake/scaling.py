#!/usr/bin/env python3
"""Prints the times of queries of a store on a cluster with one executor and with two, each with one task at once.

    benches/lake/scaling.py --query target/lake/release/trace-query --store DIR --work DIR [--rounds 5]

Executors have one thread for tasks each, so the machine needs two processors that do nothing else, and a program with the feature `cluster`.
`benches/lake/figures.py` makes a store.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests/query"))

from cluster import Cluster  # noqa: E402
from figures import QUERIES  # noqa: E402


def seconds(query: Path, store: Path, scheduler: str | None, text: str) -> float:
    where = ["--cluster", scheduler] if scheduler else []
    begin = time.perf_counter()
    subprocess.run([str(query), str(store), *where, "--format", "csv", text], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--query", "--store", "--work"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5, help="how often each query runs")
    options = parser.parse_args()
    times: dict[int, dict[str, float]] = {}
    for executors in (0, 1, 2):
        with Cluster(options.query, options.work / f"{executors} executors") as cluster:
            for _ in range(executors):
                cluster.add({}, tasks=1)
            scheduler = cluster.address if executors else None
            times[executors] = {}
            for name, text in QUERIES.items():
                seconds(options.query, options.store, scheduler, text)
                rounds = [seconds(options.query, options.store, scheduler, text) for _ in range(options.rounds)]
                times[executors][name] = statistics.median(rounds)
    print("| query | without a cluster, s | one executor, s | two executors, s | faster |\n|---|---|---|---|---|")
    for name in QUERIES:
        own, one, two = (times[executors][name] for executors in (0, 1, 2))
        print(f"| {name} | {own:.2f} | {one:.2f} | {two:.2f} | {one / two:.2f} × |")


if __name__ == "__main__":
    main()
