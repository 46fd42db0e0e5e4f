//! Archives of other forms than `trace record` writes.

use crate::harness::{good, Place};

/// All commands that read archives, without the input.
const COMMANDS: [&[&str]; 8] = [
    &["check"],
    &["dump"],
    &["stats"],
    &["slice", "-o", "slice.fxt"],
    &["merge", "-o", "merge.fxt"],
    &["convert", "-o", "out.json"],
    &["timeline", "-o", "out.html"],
    &["flamegraph", "-o", "out.svg"],
];

fn assert_noted(archive: &[u8], note: &str) {
    let place = Place::new();
    place.put("in.fxt", archive);
    for command in COMMANDS {
        let run = place.run(&[command, &["in.fxt"]].concat());
        assert!(run.stdout.contains(note) || run.stderr.contains(note), "{command:?}: {run:?}");
        assert_eq!(run.code, 0, "{command:?}: {run:?}");
    }
    // What they write is of the usual form.
    for output in ["slice.fxt", "merge.fxt"] {
        let check = place.run(&["check", output]);
        assert!(check.code == 0 && !check.stdout.contains(note), "{check:?}");
        assert!(check.stdout.contains("1 event"), "{check:?}");
    }
}

#[test]
fn big_endian_archives_are_read() {
    let words: [u64; 9] = [
        0x0016_5478_4604_0010,
        0x0021, // 1,000,000,000 ticks per second
        1_000_000_000,
        0x0001_0033, // thread 1
        12,
        34,
        0x0000_0000_0104_0034, // a complete event without names
        5_000,
        7_000,
    ];
    let archive: Vec<u8> = words.into_iter().flat_map(u64::to_be_bytes).collect();
    assert_noted(&archive, "big-endian archive");
}

#[test]
fn archives_without_a_magic_number_are_read() {
    assert_noted(&good()[8..], "archive without a magic number record");
}
