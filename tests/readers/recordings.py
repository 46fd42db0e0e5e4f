"""Runs the examples and records them, by themselves and under `trace record`."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

MODES = ("oneshot", "circular", "streaming")


@dataclass
class Way:
    """The way to record a program."""

    mode: str
    size: str
    # Under `trace record`; else by itself.
    managed: bool

    def __str__(self) -> str:
        return f"{'trace record' if self.managed else 'TRACE_OUTPUT'}, {self.mode}, {self.size}"


def ways(*sizes: tuple[str, str]) -> list[Way]:
    return [Way(mode, size, managed) for managed in (False, True) for mode, size in sizes]


# Buffers with room for all events, and one that is saved many times within scopes.
ROOMY = ways(*((mode, "16M") for mode in MODES))
SAVED_OFTEN = ways(("streaming", "160K"))
# Buffers without room for many of the events.
TOO_SMALL = ways(("oneshot", "64K"), ("circular", "256K"))


@dataclass
class Programs:
    """The directories of the programs and of their output."""

    bin: Path
    work: Path

    @property
    def trace(self) -> Path:
        return self.bin / "trace"

    def example(self, name: str) -> Path:
        return self.bin / "examples" / name

    def record(self, way: Way, archive: Path, command: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        """Runs a command and returns its result."""
        archive.unlink(missing_ok=True)
        variables = clean_environment() | (env or {})
        if way.managed:
            record = [str(self.trace), "record", "-o", str(archive), "-m", way.mode, "-b", way.size, "--"]
            return run(record + command, variables)
        own = {"TRACE_OUTPUT": str(archive), "TRACE_BUFFERING_MODE": way.mode, "TRACE_BUFFER_SIZE": way.size}
        return run(command, variables | own)

    def convert(self, archive: Path, suffix: str = ".json") -> Path:
        made = archive.with_suffix(suffix)
        made.unlink(missing_ok=True)
        succeeds(run([str(self.trace), "convert", str(archive), "-o", str(made)], clean_environment()))
        return made

    def slice(self, archive: Path, made: Path, *options: str) -> Path:
        succeeds(run([str(self.trace), "slice", str(archive), "-o", str(made), *options], clean_environment()))
        return made

    def check(self, archive: Path) -> subprocess.CompletedProcess:
        return run([str(self.trace), "check", str(archive)], clean_environment())


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TRACE_")}


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, env=env, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)


def succeeds(result: subprocess.CompletedProcess) -> None:
    if result.returncode != 0:
        raise RuntimeError(f"{result.args} exits with {result.returncode}: {result.stderr[:2000]}")
