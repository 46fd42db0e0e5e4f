"""Samples of call stacks in Perfetto's tables, with the names of functions that `trace symbolize` has written into the archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import fxt_bytes
import fxt_package
import perfetto
from recordings import Programs

PROCESS, THREADS = 7, (8, 9)
MODULE, BUILD_ID, START = "/opt/app", bytes.fromhex("ab01"), 0x5000
NAMES = {
    "module": MODULE,
    "build id": BUILD_ID.hex(),
    "strings": ["spin", "spin.c", "direct", "main", "main.c"],
    "addresses": {"0x10": [[0, 1, 12], [2, 1, 30]], "0x1f": [[3, 4, 7]]},
}
SAMPLES = "select tid, count(*), count(callsite_id) from perf_sample join thread using (utid) group by tid order by tid"
# The frames of each sample, innermost first.
FRAMES = """
    with recursive stack(ts, callsite, depth) as (
        select ts, callsite_id, 0 from perf_sample where callsite_id is not null
        union all select ts, parent_id, stack.depth + 1 from stack join stack_profile_callsite above on above.id = callsite where parent_id is not null
    ) select ts, frame.name, mapping.name, build_id, rel_pc from stack join stack_profile_callsite site on site.id = callsite
    join stack_profile_frame frame on frame.id = frame_id join stack_profile_mapping mapping on mapping.id = mapping order by ts, stack.depth"""


def checks(programs: Programs, engine: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    archive = programs.work / "samples.fxt"
    archive.write_bytes(fxt_bytes.archive(names(), *records()).getvalue())
    yield "pftrace", lambda: sample_faults(engine, programs.convert(archive, ".pftrace"))
    yield "archive with names", lambda: perfetto.errors(engine, archive)
    # The package refuses samples.
    others = programs.work / "names.fxt"
    others.write_bytes(fxt_bytes.archive(names(), fxt_bytes.event(fxt_bytes.INSTANT, 5)).getvalue())
    yield "fxt", lambda: number_faults(others)


def number_faults(archive: Path) -> list[str]:
    number = sum(map(len, fxt_package.read(archive).events.values()))
    return [] if number == 1 else [f"{number} events, not 1"]


def names() -> bytes:
    payload = json.dumps(NAMES).encode()
    header = 5 | fxt_bytes.inline("trace symbols") << 16 | len(payload) << 32 | 1 << 48
    return fxt_bytes.record(header, fxt_bytes.text("trace symbols"), fxt_bytes.text(payload))


def records() -> Iterator[bytes]:
    """Three samples of two threads, of which one has no stack."""
    module = 10 | 3 << 28 | len(MODULE) << 44 | len(BUILD_ID) << 52
    yield fxt_bytes.record(module, fxt_bytes.words(900, PROCESS), fxt_bytes.text(MODULE), fxt_bytes.text(BUILD_ID))
    yield fxt_bytes.record(10 | 1 << 16 | 3 << 28 | 5 << 44, fxt_bytes.words(900, PROCESS, START, 0x1000, 0))
    backtrace = lambda at, thread, *frames: fxt_bytes.record(  # noqa: E731
        10 | 2 << 16 | len(frames) << 28, fxt_bytes.words(at, PROCESS, thread, *frames)
    )
    # The return address is behind the call.
    yield backtrace(1000, THREADS[0], START + 0x10, START + 0x20)
    yield backtrace(2000, THREADS[1], START + 0x40, START + 0x20, 0x123456)
    yield backtrace(3000, THREADS[0])


def sample_faults(engine: Path, trace: Path) -> list[str]:
    errors, samples, frames = perfetto.query(engine, trace, [perfetto.ERRORS, SAMPLES, FRAMES])
    place = [MODULE, BUILD_ID.hex()]
    main = ["main", *place, str(0x1F)]
    expected_frames = [
        ["1000", "spin", *place, str(0x10)], ["1000", "direct", *place, str(0x10)], ["1000", *main],
        ["2000", "app+0x40", *place, str(0x40)], ["2000", *main], ["2000", "0x123456", "", "", str(0x123456)],
    ]  # fmt: skip
    expected_samples = [["8", "2", "1"], ["9", "1", "1"]]
    problems = [f"import error: {error}" for error in errors]
    problems += [] if samples == expected_samples else [f"samples {samples}, not {expected_samples}"]
    return problems + ([] if frames == expected_frames else [f"frames {frames}, not {expected_frames}"])
