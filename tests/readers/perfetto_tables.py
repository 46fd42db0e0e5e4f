"""The expected tables of Perfetto for the known events of the program."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from model import Expected, Known
from perfetto_args import merged, shown_text


@dataclass
class Slice:
    name: str
    category: str
    depth: int
    args: dict[str, object]
    open: bool
    # The scope of an instant: 0 for its thread.
    scope: int = field(default=0, compare=False)
    # The name with its zero bytes.
    whole: str = field(default="", compare=False)


@dataclass
class Tables:
    """The expected tables of Perfetto."""

    slices: dict[int, list[Slice]] = field(default_factory=dict)
    asyncs: list[Slice] = field(default_factory=list)
    counters: dict[tuple[int, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    flows: Counter[tuple[str, int, str, int]] = field(default_factory=Counter)
    # Ends of arrows by id: order along the arrow, name of the slice, thread.
    hops: dict[int, list[tuple[int, str, int]]] = field(default_factory=lambda: defaultdict(list))


def tables(expected: Expected) -> Tables:
    tables = Tables()
    for thread, events in expected.events.items():
        Thread(tables, expected.threads[thread][0], thread).all(events)
    for hops in tables.hops.values():
        chain = sorted(hops)
        tables.flows.update((out[1], out[2], into[1], into[2]) for out, into in zip(chain, chain[1:]))
    pair_asyncs(tables, [event for events in expected.events.values() for event in events])
    return tables


class Thread:
    """The tables for the events of one thread."""

    def __init__(self, tables: Tables, process: int, thread: int) -> None:
        self.tables = tables
        self.process = process
        self.thread = thread
        self.stack: list[Slice] = []

    def all(self, events: list[Known]) -> None:
        for event in events:
            self.one(event)

    def one(self, event: Known) -> None:
        if event.kind in ("scope_begin", "duration_begin"):
            self.stack.append(self.slice(event, True))
        elif event.kind in ("scope_end", "duration_end"):
            ended = self.stack.pop()
            ended.open = False
            ended.args = merged(ended.args, event)
        elif event.kind == "instant":
            self.slice(event, False)
        elif event.kind == "counter":
            self.counter(event)
        elif event.kind.startswith("flow"):
            self.hop(event)

    def slice(self, event: Known, is_open: bool) -> Slice:
        made = Slice(shown_text(event.name), shown_text(event.category), len(self.stack), merged({}, event), is_open)
        made.scope, made.whole = event.tail or 0, event.name
        self.tables.slices.setdefault(self.thread, []).append(made)
        return made

    def counter(self, event: Known) -> None:
        for key, (kind, value) in merged({}, event).items():
            assert kind in ("int", "real"), "the program counts numbers"
            self.tables.counters[self.process, f"{event.name}:{key}:{event.tail}"].append(float(value))

    def hop(self, event: Known) -> None:
        steps = [value for key, _, value in event.args if key == "hop"]
        order = {"flow_begin": -1, "flow_end": 1 << 32}.get(event.kind, *steps)
        self.tables.hops[event.tail].append((order, self.stack[-1].name, self.thread))


def pair_asyncs(tables: Tables, events: list[Known]) -> None:
    begun: dict[tuple[str, str, int], Slice] = {}
    for event in events:
        name = (event.category, event.name, event.tail)
        if event.kind in ("async_begin", "async_instant"):
            made = Slice(event.name, event.category, 0, merged({}, event), event.kind == "async_begin")
            tables.asyncs.append(made)
            begun[name] = made
    for event in events:
        if event.kind == "async_end":
            ended = begun[event.category, event.name, event.tail]
            ended.open = False
            ended.args = merged(ended.args, event)
