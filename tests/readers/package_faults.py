"""Faults of the package `fxt`, version 0.3.0, each with a minimal archive that shows it.

These archives follow the specification, but for one that is cut, and Perfetto imports them without an error. Each test passes while
the package has the fault; when one fails, the fault is mended and what `fxt_package.py` does about it can go.
"""

import unittest

from fxt.reader import FxtParseError, parse_records
from fxt.transform import transform_records_to_spans

from fxt_bytes import (
    COUNTER, DURATION_COMPLETE, INSTANT, argument, archive, event, inline, provider, record, text, words,
)  # fmt: skip


def read(*records: bytes) -> list:
    result = parse_records(archive(*records))
    assert not result.had_unexpected_eof
    return result.records_by_provider[1].records


class WrongValues(unittest.TestCase):
    """Data that the package returns differently from the record."""

    def test_the_end_of_a_complete_duration_is_taken_for_its_length(self) -> None:
        [duration] = read(event(DURATION_COMPLETE, 1000, tail=(1500,)))
        self.assertEqual(duration.timestamp_ns, 1000)
        self.assertEqual(duration.duration_ns, 1500)  # It is 500: the record's last word is the end time.

    def test_of_arguments_with_one_key_only_the_last_one_is_kept(self) -> None:
        [instant] = read(event(INSTANT, 1, argument(4, "k", 5), argument(4, "k", 6), tail=(0,)))
        self.assertEqual(instant.args, {"k": 6})  # The format has a list of arguments, in which keys may repeat.

    def test_the_scope_of_an_instant_is_missing(self) -> None:
        [thread_wide, global_] = read(event(INSTANT, 1, tail=(0,)), event(INSTANT, 1, tail=(2,)))
        self.assertEqual(thread_wide, global_)

    def test_types_of_integers_are_missing(self) -> None:
        kinds = (4, 7, 8)  # u64, pointer, koid
        values = [read(event(COUNTER, 1, argument(kind, "k", 5), tail=(0,)))[0].args["k"] for kind in kinds]
        self.assertEqual(values, [5, 5, 5])

    def test_durations_within_complete_durations_are_not_nested(self) -> None:
        outer, inner = event(DURATION_COMPLETE, 1000, tail=(2000,)), event(DURATION_COMPLETE, 1200, tail=(1400,))
        spans = transform_records_to_spans(read(outer, inner))[7].threads[8].spans
        self.assertEqual([len(span.children) for span in spans], [0, 0])  # The first one has the second one in it.


class Refusals(unittest.TestCase):
    """Valid archives that the package does not read to their end. (By the specification, unknown records are skipped.)"""

    def refuses(self, message: str, *records: bytes) -> None:
        with self.assertRaisesRegex(ValueError, message):
            read(*records)

    def test_kernel_objects_that_are_not_processes_or_threads(self) -> None:
        self.refuses("invalid kernel object type 3", record(7 | 3 << 16 | inline("n") << 24, words(9), text("n")))

    def test_scheduling_records_of_the_first_kind(self) -> None:
        self.refuses("invalid scheduling type 0", record(8, words(1, 7, 8, 7, 9)))

    def test_arguments_that_are_blobs(self) -> None:
        blob = record(10 | inline("k") << 16 | 3 << 32, text("k"), text(b"abc"))
        self.refuses("invalid argument type 10", event(INSTANT, 1, blob, tail=(0,)))

    def test_records_of_a_type_that_it_does_not_know(self) -> None:
        self.refuses("invalid record type 10", record(10, words(0)))

    def test_provider_events_that_it_does_not_know(self) -> None:
        self.refuses("invalid Provider Event Type 1", record(3 << 16 | 1 << 20 | 1 << 52))

    def test_a_provider_that_is_introduced_twice(self) -> None:
        self.refuses("multiple ProviderInfo", provider())

    def test_a_string_that_is_not_utf_8(self) -> None:
        self.refuses("invalid start byte", record(2 | 1 << 16 | 1 << 32, text(b"\xff")))

    def test_an_archive_cut_within_a_header(self) -> None:
        cut = archive(event(INSTANT, 1, tail=(0,)), b"\x14\x00\x00")
        # At other places, truncation is reported together with the records before it.
        with self.assertRaisesRegex(FxtParseError, "failed to read record header"):
            parse_records(cut)


if __name__ == "__main__":
    unittest.main()
