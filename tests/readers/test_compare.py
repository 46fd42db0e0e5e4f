"""Tests of the comparison itself."""

import copy
import unittest

import compare
import fxt_package
from model import Event, Expected, Found, Known

THREAD = 8


def known(kind: str, name: str, *args: tuple[str, str, object], tail: int | None = None) -> Known:
    return Known(kind, "c", name, tail, list(args))


def event(kind: str, name: str, start: int, end: int | None = None, tail: int | None = None, **args: object) -> Event:
    return Event(kind, "c", name, tail, args, start, end)


def expected() -> Expected:
    it = Expected(processes={7: "program"}, threads={THREAD: (7, "worker")})
    it.events[THREAD] = [
        known("scope_begin", "outer", ("k", "u64", 5)),
        known("counter", "count", ("v", "i64", -1), tail=3),
        known("scope_begin", "inner"),
        known("scope_end", "inner"),
        known("scope_end", "outer"),
        known("scope_begin", "open"),
        known("instant", "last", tail=0),
    ]
    return it


def found() -> Found:
    it = Found(processes={7: "program"}, threads={THREAD: (7, "worker")})
    it.events[THREAD] = [
        event("duration_complete", "outer", 10, 15, k=5),
        event("counter", "count", 11, tail=3, v=-1),
        event("duration_complete", "inner", 12, 13),
        event("duration_begin", "open", 16),
        event("instant", "last", 17),
    ]
    return it


def faults(it: Found) -> list[str]:
    return compare.event_by_event(expected(), it, fxt_package.view)


class EventByEvent(unittest.TestCase):
    def test_known_events_are_found(self) -> None:
        self.assertEqual(faults(found()), [])

    def test_a_scope_may_have_two_records(self) -> None:
        it = found()
        events = it.events[THREAD]
        events[0] = event("duration_begin", "outer", 10, k=5)
        events.insert(3, event("duration_end", "outer", 15))
        self.assertEqual(faults(it), [])

    def test_missing_events_are_faults(self) -> None:
        for index in range(5):
            missing, twice, changed = found(), found(), found()
            del missing.events[THREAD][index]
            twice.events[THREAD].insert(index, copy.copy(twice.events[THREAD][index]))
            changed.events[THREAD][index].name += "x"
            for what, it in {"missing": missing, "twice": twice, "changed": changed}.items():
                with self.subTest(what, index=index):
                    self.assertTrue(faults(it))

    def test_wrong_order_and_thread_are_faults(self) -> None:
        swapped, elsewhere = found(), found()
        events = swapped.events[THREAD]
        events[1], events[2] = events[2], events[1]
        self.assertTrue(faults(swapped))
        elsewhere.events[9] = [elsewhere.events[THREAD].pop()]
        self.assertTrue(faults(elsewhere))

    def test_wrong_types_ids_and_arguments_are_faults(self) -> None:
        for change in ({"tail": 4}, {"args": {"v": 1}}, {"args": {}}, {"args": {"v": -1, "w": 0}}, {"kind": "instant"}):
            it = found()
            for name, value in change.items():
                setattr(it.events[THREAD][1], name, value)
            with self.subTest(change):
                self.assertTrue(faults(it))

    def test_wrong_times_are_faults(self) -> None:
        for index, name, value in ((0, "end", 12), (0, "end", 17), (2, "end", 11), (1, "start", 9), (3, "kind", "duration_complete")):
            it = found()
            setattr(it.events[THREAD][index], name, value)
            with self.subTest(index=index, value=value):
                self.assertTrue(faults(it))

    def test_wrong_names_and_losses_are_faults(self) -> None:
        for name, value in (("threads", {THREAD: (7, "other")}), ("threads", {THREAD: (6, "worker")}), ("processes", {}), ("lost", 1)):
            it = found()
            setattr(it, name, value)
            with self.subTest(name, value=value):
                self.assertTrue(faults(it))


class NothingInvented(unittest.TestCase):
    def faults(self, it: Found) -> list[str]:
        return compare.nothing_invented(expected(), it, fxt_package.view)

    def test_missing_events_are_allowed(self) -> None:
        for index in range(5):
            it = found()
            del it.events[THREAD][index]
            self.assertEqual(self.faults(it), [])

    def test_repeated_events_are_faults(self) -> None:
        for index in range(5):
            it = found()
            it.events[THREAD].append(it.events[THREAD][index])
            # A complete duration without arguments may be an overwritten scope, but only once more.
            it.events[THREAD].append(it.events[THREAD][index])
            self.assertTrue(self.faults(it))

    def test_the_newest_event_is_required(self) -> None:
        it = found()
        del it.events[THREAD][:2]
        self.assertEqual(compare.newest_kept(expected(), it, fxt_package.view, "worker"), [])
        it.events[THREAD].pop()
        self.assertTrue(compare.newest_kept(expected(), it, fxt_package.view, "worker"))


if __name__ == "__main__":
    unittest.main()
