"""A cluster on this machine: a scheduler and executors."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

# The time that a part of a cluster has to do something, in seconds.
PATIENCE = 120


class Cluster:
    """A scheduler without executors, on a port that is free."""

    def __init__(self, program: Path, work: Path) -> None:
        self.program = program
        self.work = work
        work.mkdir(parents=True, exist_ok=True)
        self.executors: list[Executor] = []
        command = [str(program), "--lake", "scheduler", "--bind", "127.0.0.1:0", "--executor-timeout", "15s"]
        self.log = (work / "scheduler.txt").open("w")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.address = re.search(r"listens on (\S+)", self.process.stdout.readline())[1]

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in [executor.process for executor in self.executors] + [self.process]:
            process.kill()
            process.wait(PATIENCE)
            process.stdout.close()
        self.log.close()

    def add(self, environment: dict[str, str], tasks: int = 2) -> Executor:
        """Starts an executor, and waits until the scheduler knows it."""
        executor = Executor(self, len(self.executors), environment, tasks)
        known = self.known()
        self.executors.append(executor)
        wait_for("an executor", lambda: self.known() > known)
        return executor

    def known(self) -> int:
        """The executors that the scheduler knows."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz") as answer:
                return int(re.search(rb"(\d+) executors", answer.read())[1])
        except urllib.error.HTTPError:
            return 0


class Executor:
    def __init__(self, cluster: Cluster, number: int, environment: dict[str, str], tasks: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [str(cluster.program), "--lake", "executor", "--scheduler", cluster.address, "--bind", f"127.0.0.1:{port}"]
        command += ["--work-dir", str(cluster.work / f"executor {number}"), "--tasks", str(tasks), "--memory", "512"]
        self.log = cluster.work / f"executor {number}.txt"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=os.environ | environment)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)


def wait_for(what: str, is_there: Callable[[], bool]) -> None:
    for _ in range(PATIENCE * 20):
        if is_there():
            return
        time.sleep(0.05)
    raise TimeoutError(what)
