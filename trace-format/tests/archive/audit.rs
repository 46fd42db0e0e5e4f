//! Counts of unknown references and arguments, and of times out of range.

use trace_format::audit::Audit;

use crate::{stats_of, MAGIC};

/// 1 tick per second: 2⁶⁴ - 1 ticks are out of range.
const ONE_HERTZ: [u64; 2] = [0x0021, 1];

fn audit_of(records: &[&[u64]]) -> Audit {
    stats_of(&[&[MAGIC], &ONE_HERTZ[..], &records.concat()].concat()).1
}

#[test]
fn unknown_parts_of_events_are_counted() {
    // A complete duration with thread 1, category 2, name 3, and the arguments `4: "5"`, `6: null`
    // and one of type 13 with name 7.
    let complete = [
        0x0003_0002_0134_0064,
        u64::MAX,
        0x0000_0005_0004_0016,
        0x0006_0010,
        0x0007_001d,
        u64::MAX,
    ];
    let expected =
        Audit { unknown_strings: 6, unknown_threads: 1, unknown_arguments: 1, saturated_times: 2 };
    assert_eq!(audit_of(&[&complete]), expected);

    let strings = (2..=7).flat_map(|index| [0x0000_0001_0000_0022 | index << 16, 0x78]);
    let strings: Vec<u64> = strings.collect();
    let thread = [0x0001_0033, 5, 6];
    let expected = Audit { unknown_strings: 0, unknown_threads: 0, ..expected };
    assert_eq!(audit_of(&[&strings, &thread, &complete]), expected);
}

#[test]
fn unknown_parts_of_other_records_are_counted() {
    // A userspace object of process ref 1 with name 2, the argument `3: "4"`, and two of type 13.
    let object = [0x0000_0300_0201_0056, 0xdead, 0x0000_0004_0003_0016, 0x0005_001d, 0x0005_001d];
    let expected =
        Audit { unknown_strings: 5, unknown_threads: 1, unknown_arguments: 2, saturated_times: 0 };
    assert_eq!(audit_of(&[&object]), expected);

    // A legacy context switch between threads 1 and 2.
    let switch = [0x0000_0020_1000_0028, u64::MAX];
    let expected = Audit { unknown_threads: 2, saturated_times: 1, ..Audit::default() };
    assert_eq!(audit_of(&[&switch]), expected);
    let twice = Audit { unknown_threads: 4, saturated_times: 2, ..Audit::default() };
    assert_eq!(audit_of(&[&switch, &switch]), twice);
}
