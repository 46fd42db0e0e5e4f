"""Compares a reader's events with the known events of the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from model import Event, Expected, Found, Known, Objects

# The expected tail and arguments of a known event, for a reader.
View = Callable[[Known], tuple[object, object]]

# The number of mismatches to print. Further ones are counted.
PRINTED = 5


def event_by_event(expected: Expected, found: Found, view: View) -> list[str]:
    """No event is missing or unexpected, each thread's events are in order, and names are right."""
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
        # A thread without a known name has no events.
        if names[0] is not None and names[0] != names[1]:
            faults.append(f"thread {thread} is called {names[1]}, not {names[0]}")
    return faults


class Walk:
    """One thread's known events and found events, side by side.

    A scope is one record if its buffer was not saved before its end. Else the scope has a record for its
    beginning and another for its end. What is never ended has to look so.
    """

    def __init__(self, found: list[Event], view: View) -> None:
        self.found = found
        self.view = view
        self.at = 0
        # The time of the last compared event. The next one must not be earlier.
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
        return self.faults[:PRINTED] + ([f"and {len(self.faults) - PRINTED} more"] if len(self.faults) > PRINTED else [])

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
            self.fault(f"earlier than the event before it, at {self.now}: {event}")
        self.now = event.start
        return event

    def fault(self, fault: str) -> None:
        self.faults.append(fault if len(fault) < 500 else fault[:500] + "…")


def looks(known: Known, view: View) -> tuple[object, ...]:
    return (known.category, known.name, *view(known))


def nothing_invented(expected: Expected, found: Found, view: View) -> list[str]:
    """Each found event is a known one, no more often than known. This check allows losses."""
    faults = list(found.faults)
    for thread, events in found.events.items():
        known = expected.events.get(thread, [])
        names = expected.threads.get(thread)
        if names is not None and found.threads.get(thread, names) != names:
            faults.append(f"thread {thread} is called {found.threads[thread]}, not {names}")
        faults += [f"thread {thread}: not done: {event}"[:500] for event in invented(known, events, view)]
    return faults[:PRINTED]


def invented(known: list[Known], events: list[Event], view: View) -> list[Event]:
    done = Counter(key(event.kind, looks(event, view)) for event in known)
    # A scope whose begin was overwritten is a complete duration without arguments.
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
    """The last event of the thread with this name is in the archive."""
    [last] = [thread for thread, (_, called) in expected.threads.items() if called == name]
    known = [event for event in expected.events[last] if not event.kind.startswith("scope")][-1]
    seen = [event.looks() for event in found.events[last] if event.kind == known.kind]
    return [] if looks(known, view) in seen[-1:] else [f"thread {last} does not end with {known}"]


def records(expected: Expected) -> int:
    """The number of records, if no scope requires two."""
    return sum(event.kind != "scope_end" for events in expected.events.values() for event in events)
