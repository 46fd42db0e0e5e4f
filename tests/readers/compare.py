"""Compares what a reader found with what the program did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from model import Event, Expected, Found, Known, Objects

# How a known event has to look to a reader: its tail and its arguments.
View = Callable[[Known], tuple[object, object]]

# Mismatches that are told; the rest is counted.
TOLD = 5


def event_by_event(expected: Expected, found: Found, view: View) -> list[str]:
    """Nothing is missing, nothing is there that was not done, each thread's events are in order, names are right."""
    faults = found.faults + objects(expected, found)
    for thread in sorted(expected.events.keys() | found.events.keys()):
        walk = Walk(found.events.get(thread, []), view)
        faults += [f"thread {thread}: {fault}" for fault in walk.all(expected.events.get(thread, []))]
    if found.lost:
        faults.append(f"{found.lost} records are lost")
    return faults


def objects(expected: Objects, found: Objects) -> list[str]:
    faults = [] if expected.processes == found.processes else [f"processes: {found.processes}, not {expected.processes}"]
    for thread in sorted(expected.threads.keys() | found.threads.keys()):
        names = expected.threads.get(thread), found.threads.get(thread)
        # A name that nobody wrote down is that of a thread that did nothing.
        if names[0] is not None and names[0] != names[1]:
            faults.append(f"thread {thread} is called {names[1]}, not {names[0]}")
    return faults


class Walk:
    """One thread's known events and those that were found, side by side.

    The end of a scope is within the scope's one record, if nobody saved the buffer in between. Else the scope has a record for its
    beginning and another for its end. What is never ended has to look so.
    """

    def __init__(self, found: list[Event], view: View) -> None:
        self.found = found
        self.view = view
        self.at = 0
        # Time of what was last compared: what comes next is not earlier.
        self.now: float = 0
        self.open: list[Event | None] = []
        self.faults: list[str] = []

    def all(self, known: list[Known]) -> list[str]:
        for event in known:
            self.one(event)
        for beginning in filter(None, self.open):
            if beginning.kind != "duration_begin":
                self.fault(f"a scope is not open, but {beginning}")
        for event in self.found[self.at :]:
            self.fault(f"not done: {event}")
        return self.faults[:TOLD] + ([f"and {len(self.faults) - TOLD} more"] if len(self.faults) > TOLD else [])

    def one(self, known: Known) -> None:
        if known.kind == "scope_begin":
            self.open.append(self.take(known, ("duration_complete", "duration_begin")))
        elif known.kind == "scope_end":
            self.end(known)
        else:
            self.take(known, (known.kind,))

    def end(self, known: Known) -> None:
        beginning = self.open.pop()
        if beginning is None:
            return
        if beginning.kind == "duration_begin":
            self.take(known, ("duration_end",))
            return
        after = self.found[self.at].start if self.at < len(self.found) else beginning.end
        if beginning.end is None or not self.now <= beginning.end <= after:
            self.fault(f"ends at {beginning.end}, not from {self.now} to {after}: {beginning}")
        else:
            self.now = beginning.end

    def take(self, known: Known, kinds: tuple[str, ...]) -> Event | None:
        if self.at == len(self.found):
            self.fault(f"missing: {known}")
            return None
        event = self.found[self.at]
        self.at += 1
        if event.kind not in kinds or event.looks() != looks(known, self.view):
            self.fault(f"expected {known}, found {event}")
            return None
        if event.start < self.now:
            self.fault(f"earlier than what is before it, at {self.now}: {event}")
        self.now = event.start
        return event

    def fault(self, fault: str) -> None:
        self.faults.append(fault if len(fault) < 500 else fault[:500] + "…")


def looks(known: Known, view: View) -> tuple[object, ...]:
    return (known.category, known.name, *view(known))


def nothing_invented(expected: Expected, found: Found, view: View) -> list[str]:
    """What was found was done, as often as that. Where much is lost, this is what can be said."""
    faults = list(found.faults)
    for thread, events in found.events.items():
        known = expected.events.get(thread, [])
        names = expected.threads.get(thread)
        if names is not None and found.threads.get(thread, names) != names:
            faults.append(f"thread {thread} is called {found.threads[thread]}, not {names}")
        faults += [f"thread {thread}: not done: {event}"[:500] for event in invented(known, events, view)]
    return faults[:TOLD]


def invented(known: list[Known], events: list[Event], view: View) -> list[Event]:
    done = Counter(key(event.kind, looks(event, view)) for event in known)
    # A scope whose beginning is overwritten is there as a whole, but for its arguments.
    ended = Counter((event.category, event.name) for event in known if event.kind == "scope_end")
    left = []
    for event in events:
        name, look = (event.category, event.name), key(event.kind, event.looks())
        if done[look] > 0:
            done[look] -= 1
        elif event.kind == "duration_complete" and not event.args and ended[name] > 0:
            ended[name] -= 1
        else:
            left.append(event)
    return left


def key(kind: str, looks: tuple[object, ...]) -> str:
    same = {"scope_begin": "begins", "duration_complete": "begins", "duration_begin": "begins", "scope_end": "duration_end"}
    return repr((same.get(kind, kind), looks))


def newest_kept(expected: Expected, found: Found, view: View, name: str) -> list[str]:
    """The last event of the thread of this name is there."""
    [last] = [thread for thread, (_, called) in expected.threads.items() if called == name]
    known = [event for event in expected.events[last] if not event.kind.startswith("scope")][-1]
    seen = [event.looks() for event in found.events[last] if event.kind == known.kind]
    return [] if looks(known, view) in seen[-1:] else [f"thread {last} does not end with {known}"]


def records(expected: Expected) -> int:
    """Records that the program made, where no scope needs two."""
    return sum(event.kind != "scope_end" for events in expected.events.values() for event in events)
