"""The tables of Perfetto's trace processor for scheduling in JSON: from lines of ftrace, which it reads itself, from durations on CPUs, and from archives converted from such JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import fxt_bytes
import perfetto
from check_pftrace import TURNS, WAKEUPS
from recordings import Programs

ON_CPUS = """
    select tid - 0xfffe0000, extract_arg(slice.arg_set_id, 'args.thread'), slice.name, ts, dur, extract_arg(slice.arg_set_id, 'args.weight'),
        extract_arg(slice.arg_set_id, 'args.state afterwards'), thread.name
    from slice join thread_track on track_id = thread_track.id join thread using (utid) join process using (upid)
    where process.name = 'CPUs' and dur != 0 order by ts"""
STATES = {"S": "blocked", "T": "suspended", "Z": "dying", "X": "dead", "R": "running"}

# Each layout of lines of the kernels. Thread 8 runs twice, 9 once, with an unrelated event.
LINES = """# tracer: nop
#
# entries-in-buffer/entries-written: 7/7   #P:2
          <idle>-0     [003]     0.001000: sched_switch: prev_comm=swapper/3 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=eight next_pid=8 next_prio=120
           eight-8     [003] d..2.     0.001200: sched_waking: comm=nine pid=9 prio=100 target_cpu=003
          <idle>-0     [003] dNh4     0.001210: sched_wakeup: comm=nine pid=9 prio=100 target_cpu=003
           eight-8     (    7) [003] ....     0.001300: cpu_idle: state=1 cpu_id=0
           eight-8     (    7) [003] d..2     0.001500: sched_switch: prev_comm=eight prev_pid=8 prev_prio=120 prev_state=T ==> next_comm=nine next_pid=9 next_prio=100
            nine-9     (-----) [003] d..2     0.002500: sched_switch: prev_comm=nine prev_pid=9 prev_prio=100 prev_state=R+ ==> next_comm=eight next_pid=8 next_prio=120
           eight-8     [003] d...     0.004000: sched_switch: prev_comm=eight prev_pid=8 prev_prio=120 prev_state=X ==> next_comm=swapper/3 next_pid=0 next_prio=120
"""  # fmt: skip


def checks(programs: Programs, engine: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """`check_pftrace` creates `scheduling.fxt`."""
    made = programs.work / "scheduling.fxt"
    yield "lines of ftrace in JSON", lambda: same_turns(engine, made.with_suffix(".pftrace"), programs.convert(made))
    yield "durations on CPUs in JSON", lambda: on_cpus(engine, programs.convert(made), 3)
    low = programs.work / "low_threads.fxt"
    low.write_bytes(fxt_bytes.archive(*low_threads()).getvalue())
    yield "CPUs and threads with their numbers", lambda: on_cpus(engine, programs.convert(low), 4)
    document = programs.work / "ftrace.json"
    event = {"ph": "X", "name": "work", "ts": 900, "dur": 4000, "pid": 7, "tid": 8}
    document.write_text(json.dumps({"traceEvents": [event], "systemTraceEvents": LINES}), encoding="utf-8")
    archive = programs.convert(document, ".fxt")
    yield "archive of ftrace", lambda: same_turns(engine, document, archive, wakeups=False)
    yield "pftrace of ftrace", lambda: same_turns(engine, document, programs.convert(archive, ".pftrace"))


def same_turns(engine: Path, expected: Path, found: Path, wakeups: bool = True) -> list[str]:
    """Archives do not distinguish preempted threads (`R+`) from other runnable ones. Perfetto does not keep the waker of their wake-ups."""
    queries = [perfetto.ERRORS, TURNS] + [WAKEUPS] * wakeups
    errors, *expected_rows = perfetto.query(engine, expected, queries)
    more_errors, *have = perfetto.query(engine, found, queries)
    problems = [f"import error: {error}" for error in errors + more_errors]
    expected_rows[0] = [[*turn[:-1], turn[-1].rstrip("+")] for turn in expected_rows[0]]
    problems += [] if expected_rows == have else [f"{have}, not {expected_rows}"]
    return problems + ([] if len(expected_rows[0]) == 3 else [f"turns {expected_rows[0]}"])


def low_threads() -> Iterator[bytes]:
    """Threads 1 and 3 on CPUs 0, 1 and 3, with weights of 1."""
    weights = [fxt_bytes.argument(1, name, in_header=1) for name in ("outgoing_weight", "incoming_weight")]
    for thread, name in ((1, "one"), (3, "three")):
        header = 7 | 2 << 16 | 1 << 40
        process = fxt_bytes.argument(8, "process", 1)
        yield fxt_bytes.record(header | fxt_bytes.inline(name) << 24, fxt_bytes.words(thread), fxt_bytes.text(name), process)
    for at, cpu, out, into in ((1000, 0, 0, 3), (1000, 3, 0, 1), (2000, 0, 3, 0), (2500, 3, 1, 3), (3000, 3, 3, 0), (3000, 1, 0, 1), (4000, 1, 1, 0)):
        yield fxt_bytes.record(8 | 2 << 16 | cpu << 20 | 3 << 36 | 1 << 60, fxt_bytes.words(at, out, into), *weights)


def on_cpus(engine: Path, document: Path, count: int) -> list[str]:
    """The durations equal those that Perfetto derives from the lines."""
    turns, found = perfetto.query(engine, document, [TURNS, ON_CPUS])
    expected = [[cpu, f"#{tid}", name, ts, dur, weight, STATES[state], f"CPU {cpu}"] for cpu, tid, name, ts, dur, weight, state in turns]
    return [] if sorted(found) == sorted(expected) and len(found) == count else [f"on CPUs {found}, not {expected}"]
