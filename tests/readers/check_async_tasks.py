"""Expectations for the archive of the example `async_tasks`: each task on its own track, and its polls on threads, joined by arrows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import chrome_json
import fxt_package
import perfetto
from model import Event, Found
from recordings import Programs, Way, succeeds

PAGES = 12
# The count of each task, and its parent.
TASKS = {"crawl": (1, None), "page": (PAGES, "crawl"), "text": (PAGES, "page"), "picture": (PAGES, "page"), "download": (PAGES, "picture")}
CANCELLED = {"download": PAGES // 3}

# Perfetto shows successive tasks of the same name on one line. They must not be nested.
TRACKS = """
    select name, count(*), max(depth), sum(dur = -1) from slice
    where track_id not in (select id from thread_track) and category = 'example' group by name order by name"""
# Arrows, grouped by whether they lead from a poll of a task to its next poll.
ARROWS = """
    select extract_arg(o.arg_set_id, 'task') = extract_arg(i.arg_set_id, 'task')
        and extract_arg(o.arg_set_id, 'poll-count') + 1 = extract_arg(i.arg_set_id, 'poll-count') as next, count(*)
    from flow join slice o on slice_out = o.id join slice i on slice_in = i.id group by next"""
# The same for JSON, where large numbers such as a task's are texts.
JSON_ARROWS = ARROWS.replace("'task'", "'args.task'").replace("'poll-count'", "'args.poll-count'")


@dataclass
class Task:
    begin: Event
    end: Event | None = None
    polls: list[tuple[int, Event]] = field(default_factory=list)
    flows: list[tuple[int, Event]] = field(default_factory=list)


def checks(programs: Programs, engine: Path, way: Way) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    archive = programs.work / "async_tasks.fxt"
    succeeds(programs.record(way, archive, [str(programs.example("async_tasks"))]))
    json = programs.convert(archive)
    arrows = sum(len(task.polls) - 1 for task in tasks(fxt_package.read(archive)).values())
    yield "fxt", lambda: faults(fxt_package.read(archive))
    yield "json", lambda: faults(chrome_json.read(json))
    yield "perfetto", lambda: perfetto_faults(engine, archive, arrows, ARROWS)
    yield "perfetto of json", lambda: perfetto_faults(engine, json, arrows, JSON_ARROWS)


def number(text: object) -> int:
    """JSON has large numbers as text, and ids in base 16."""
    return int(text, 0) if isinstance(text, str) else int(text)


def tasks(found: Found) -> dict[int, Task]:
    """The records of each task. Fails on a record of a task that never began, and on one that began twice."""
    events = [(thread, event) for thread, events in found.events.items() for event in events]
    begun = [event for _, event in events if event.kind == "async_begin"]
    tasks = {number(event.tail): Task(event) for event in begun}
    if len(tasks) != len(begun):
        raise ValueError(f"{len(begun)} tasks share {len(tasks)} tracks")
    for thread, event in events:
        if event.kind == "async_end":
            tasks[number(event.tail)].end = event
        elif event.kind.startswith("flow"):
            tasks[number(event.tail)].flows.append((thread, event))
        elif "task" in event.args:
            tasks[number(event.args["task"])].polls.append((thread, event))
    return tasks


def faults(found: Found) -> list[str]:
    known = tasks(found)
    problems = found.faults + ([f"{found.lost} records lost"] if found.lost else [])
    for name, (total, _) in TASKS.items():
        ends = Counter(task.end.args["state"] for task in known.values() if task.end and task.begin.name == name)
        cancelled = CANCELLED.get(name, 0)
        states = {state: count for state, count in (("ready", total - cancelled), ("cancelled", cancelled)) if count}
        problems += [] if ends == states else [f"{name}: {dict(ends)}, not {states}"]
    urls = {task.begin.args.get("url") for task in known.values() if task.begin.name == "page"}
    problems += [] if urls == {f"/page/{page}" for page in range(PAGES)} else [f"pages {urls}"]
    return problems + [fault for task in known.values() for fault in task_faults(known, task)]


def task_faults(known: dict[int, Task], task: Task) -> list[str]:
    name = task.begin.name
    parent = task.begin.args.get("parent")
    parent = None if parent is None else known[number(parent)].begin.name
    problems = [] if parent == TASKS[name][1] else [f"{name} is a child of {parent}"]
    task.polls.sort(key=lambda poll: poll[1].args["poll-count"])
    polls = [event for _, event in task.polls]
    counts = [poll.args["poll-count"] for poll in polls]
    problems += [] if counts == list(range(1, len(polls) + 1)) else [f"{name}: polls {counts}"]
    problems += [f"{name} is {poll.args['poll-state']} before its last poll" for poll in polls[:-1] if poll.args["poll-state"] != "pending"]
    ready = polls[-1].args["poll-state"] == "ready"
    problems += [] if ready == (task.end.args["state"] == "ready") else [f"{name}: the last poll is {polls[-1]}"]
    within = [task.begin.start, *(time for poll in polls for time in (poll.start, poll.end)), task.end.start]
    problems += [] if within == sorted(within) else [f"{name}: polls overlap, or are outside of the task: {within}"]
    return problems + ([] if flows(task) == expected_flows(task, ready) else [f"{name}: {flows(task)}, not {expected_flows(task, ready)}"])


def flows(task: Task) -> list[tuple[str, int, object]]:
    return sorted(((flow.kind, thread, flow.start) for thread, flow in task.flows), key=lambda flow: flow[2])


def expected_flows(task: Task, ready: bool) -> list[tuple[str, int, object]]:
    """One at the start of each poll, except for a task that was ready at once."""
    if ready and len(task.polls) == 1:
        return []
    kinds = ["flow_begin"] + ["flow_step"] * (len(task.polls) - 1)
    if ready:
        kinds[-1] = "flow_end"
    return [(kind, thread, poll.start) for kind, (thread, poll) in zip(kinds, task.polls)]


def perfetto_faults(engine: Path, trace: Path, arrows: int, query: str) -> list[str]:
    errors, tracks, found = perfetto.query(engine, trace, [perfetto.ERRORS, TRACKS, query])
    problems = [f"import error: {error}" for error in errors]
    expected = [[name, str(count), "0", "0"] for name, (count, _) in sorted(TASKS.items())]
    problems += [] if tracks == expected else [f"tracks {tracks}, not {expected}"]
    return problems + ([] if found == [["1", str(arrows)]] else [f"arrows {found}, not {arrows} from each poll to the next"])
