//! The consumer against memory that no honest provider leaves.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::{directory_entry, BufferingMode, Layout};
use trace_protocol::buffer::memory::ReadMapping;

use crate::harness::{layout, records, string_record};

/// A file with these words at these positions, mapped as a manager maps it.
pub fn memory(layout: &Layout, words: impl IntoIterator<Item = (usize, u64)>) -> ReadMapping {
    let file = tempfile::tempfile().unwrap();
    file.set_len(layout.total_size() as u64).unwrap();
    for (index, word) in words {
        if (index + 1) * 8 <= layout.total_size() {
            file.write_all_at(&word.to_le_bytes(), index as u64 * 8).unwrap();
        }
    }
    ReadMapping::map(file.as_fd(), layout.total_size()).unwrap()
}

fn collect(layout: Layout, mapping: ReadMapping) -> (Vec<u64>, Collector) {
    collect_as(IdentityPolicy::Own(1), layout, mapping)
}

fn collect_as(
    policy: IdentityPolicy,
    layout: Layout,
    mapping: ReadMapping,
) -> (Vec<u64>, Collector) {
    let mut collector = Collector::new(mapping, layout, policy).unwrap();
    let mut out = Vec::new();
    collector.finish(&mut out);
    (out, collector)
}

/// One chunk with these words in a oneshot buffer.
pub fn chunk(content: &[u64]) -> (Vec<u64>, Collector) {
    chunk_as(IdentityPolicy::Own(1), content)
}

fn chunk_as(policy: IdentityPolicy, content: &[u64]) -> (Vec<u64>, Collector) {
    chunk_in(layout(BufferingMode::Oneshot, 4096, 4096, 256), policy, content)
}

/// One chunk of four units of 32 words.
pub fn chunk_in(layout: Layout, policy: IdentityPolicy, content: &[u64]) -> (Vec<u64>, Collector) {
    let rolling = layout.rolling_offset(0) / 8;
    let mut words = vec![(rolling, directory_entry(0, 4))];
    words.extend(content.iter().enumerate().map(|(index, word)| (rolling + 32 + index, *word)));
    collect_as(policy, layout, memory(&layout, words))
}

#[test]
fn bad_records_are_refused_and_the_rest_kept() {
    let thread = [0x1_0033, 99, 5];
    let string = string_record(7, "good");
    let good = [0x0007_0007_0100_0024, 10];
    let cases: [(&str, &[u64], usize); 9] = [
        ("forged metadata", &[0x0000_0001_0001_0010], 1),
        ("unknown type", &[0x1b], 2),
        ("unregistered string", &[0x0008_0007_0100_0024, 1], 4),
        ("unregistered thread", &[0x0007_0007_0200_0024, 1], 5),
        ("event type 15", &[0x0007_0007_010f_0024, 1], 3),
        ("argument that does not fit", &[0x0007_0007_0110_0034, 1, 0xff3], 3),
        ("argument of size 0", &[0x0007_0007_0110_0034, 1, 0], 3),
        (
            "text that is not UTF-8",
            &[0x0001_0007_0000_0022 & !0xffff_0000_0000 | 0x2_0000_0000 | 9 << 16, 0xffff],
            6,
        ),
        ("string index 0", &[0x0000_0001_0000_0022, 0x61], 3),
    ];
    for (what, bad, reason) in cases {
        let content = [&thread[..], &string, &good, bad, &good].concat();
        let (out, collector) = chunk(&content);
        let stats = collector.stats();
        assert_eq!(stats.rejected[reason], 1, "{what}: {:?}", stats.rejected);
        assert_eq!(stats.rejections(), 1, "{what}");
        assert_eq!(out, [&[0x1_0033, 1, 5][..], &string, &good, &good].concat(), "{what}");
    }
}

/// What a scope that ended late looks like, and what looks like it.
#[test]
fn only_late_scopes_of_one_short_argument_are_taken_for_late() {
    let string = string_record(7, "good");
    let thread = [0x1_0033, 1, 5];
    let (one_word, two_words) = (0x0000_0001_0007_0012, 0x0000_0000_0007_0024);
    let cases: [(&str, &[u64], &[u64]); 4] = [
        (
            "late, with an argument",
            &[0x0007_0007_0114_0054, 10, one_word, 20, 1],
            &[0x0007_0007_0114_0044, 10, one_word, 20],
        ),
        (
            "an argument of two words",
            &[0x0007_0007_0114_0054, 10, two_words, 9, 20],
            &[0x0007_0007_0114_0054, 10, two_words, 9, 20],
        ),
        (
            "two arguments",
            &[0x0007_0007_0124_0064, 10, one_word, one_word, 20, 1],
            &[0x0007_0007_0124_0064, 10, one_word, one_word, 20, 1],
        ),
        ("an argument that does not fit", &[0x0007_0007_0114_0054, 10, 0x0007_0ff4, 20, 1], &[]),
    ];
    for (what, record, kept) in cases {
        let (out, collector) = chunk(&[&thread[..], &string, record].concat());
        assert_eq!(out, [&thread[..], &string, kept].concat(), "{what}");
        assert_eq!(collector.stats().rejections(), u64::from(kept.is_empty()), "{what}");
    }
}

#[test]
fn a_record_that_leaves_its_chunk_ends_it() {
    let (out, collector) = chunk(&[0x1_0033, 99, 5, 0xfff4]);
    assert_eq!(out, [0x1_0033, 1, 5]);
    assert_eq!(collector.stats().rejected[0], 1);
}

#[test]
fn chunks_of_other_wraps_and_sizes_are_passed_over() {
    let layout = layout(BufferingMode::Circular, 4096, 4096, 256);
    let rolling = layout.rolling_offset(0) / 8;
    for entry in [directory_entry(1, 1), directory_entry(0, 0), directory_entry(0, 1000), u64::MAX]
    {
        let words =
            [(rolling, entry), (rolling + 32, 0x1_0033), (rolling + 33, 1), (rolling + 34, 2)];
        let (out, _) = collect(layout, memory(&layout, words));
        assert_eq!(out, [], "{entry:#x}");
    }
}

/// A provider cannot have the reader remember more than a name or two for each index.
#[test]
fn long_texts_are_passed_on_and_not_kept() {
    let layout = layout(BufferingMode::Streaming, 4096, 64 << 10, 4096);
    let text = "x".repeat(30_000);
    let mut words = vec![(layout.rolling_offset(0) / 8, directory_entry(0, 15))];
    let start = (layout.rolling_offset(0) + 4096) / 8;
    words.extend(
        string_record(7, &text).into_iter().enumerate().map(|(index, word)| (start + index, word)),
    );
    let (out, collector) = collect(layout, memory(&layout, words));
    assert_eq!(out, string_record(7, &text));
    assert!(format!("{collector:?}").len() < text.len(), "the text is not in the collector");
}

/// What other processes do, and in whose name, is not a provider's to say.
#[test]
fn a_provider_speaks_for_itself_alone() {
    let log = [0x0000_0000_0001_0059, 1, 1111, 2222, u64::from(b'x')];
    let switch = [0x0000_0000_0000_0048 | 4 << 60 >> 4, 1, 5, 6];
    let (out, collector) = chunk(&[&log[..], &switch].concat());
    assert_eq!(out, [0x0000_0000_0001_0059, 1, 1, 2222, u64::from(b'x')]);
    assert_eq!(collector.stats().rejected[7], 1);
}

/// The words of a text, with zeros behind it.
fn text(text: &str) -> Vec<u64> {
    string_record(1, text).split_off(1)
}

/// The header of a profiler record of four words, of the thread with index 1.
fn profiler(kind: u64) -> u64 {
    10 | 4 << 4 | kind << 16 | 1 << 20
}

/// The process of a profiler record is in it only where no thread of the table is.
#[test]
fn profiler_records_of_a_registered_thread_keep_their_content() {
    let thread = [0x1_0033, 1, 5];
    let name = text("libcontent.so");
    let module = [&[profiler(0) | 13 << 44, 1][..], &name].concat();
    let backtrace = [profiler(2) | 2 << 28, 1, 0x1111, 0x2222];
    let (out, collector) = chunk(&[&thread[..], &module, &backtrace].concat());
    assert_eq!(collector.stats().rejections(), 0, "{:?}", collector.stats());
    assert_eq!(out, [&thread[..], &module, &backtrace].concat());
}

/// An application names its own process, and threads of it.
#[test]
fn names_of_other_processes_are_refused() {
    let object = |kind: u64, koid, arguments: &[u64]| {
        let words = 3 + arguments.len() as u64;
        let count = u64::from(!arguments.is_empty());
        let header = 7 | words << 4 | kind << 16 | 0x8001 << 24 | count << 40;
        [&[header, koid, u64::from(b'x')], arguments].concat()
    };
    // The process that it takes itself for may have another number outside of its namespace.
    let thread = [0x1_0033, 99, 5];
    let process_key = 0x8007 << 16;
    let process = [8 | 3 << 4 | process_key, u64::from_le_bytes(*b"process\0"), 4242];
    let own_process = [process[0], process[1], 1];
    let uid = [2 | 2 << 4 | 0x8003 << 16, u64::from_le_bytes(*b"uid\0\0\0\0\0")];
    let cases = [
        ("the process of the kernel", object(1, 1, &[]), Some(object(1, 1, &[]))),
        ("the process as it names itself", object(1, 99, &[]), Some(object(1, 1, &[]))),
        ("the process without a number", object(1, 0, &[]), Some(object(1, 1, &[]))),
        ("another process", object(1, 4242, &[]), None),
        ("a user", object(1, 1, &uid), None),
        ("a thread", object(2, 7, &process), Some(object(2, 7, &own_process))),
        ("a thread of any process", object(2, 7, &[]), Some(object(2, 7, &own_process))),
    ];
    for (what, record, kept) in cases {
        let (out, collector) = chunk(&[&thread[..], &record].concat());
        let refused = u64::from(kept.is_none());
        assert_eq!(collector.stats().rejected[7], refused, "{what}: {:?}", collector.stats());
        assert_eq!(out, [vec![0x1_0033, 1, 5], kept.unwrap_or_default()].concat(), "{what}");
    }
}

/// A provider of the machine writes about other processes and processors; an application does not.
#[test]
fn only_a_machine_provider_writes_about_others() {
    let strings = [string_record(7, "trace"), string_record(8, "clock anchor")].concat();
    let thread = [0x1_0033, 99, 5];
    let foreign = [
        // A context switch of processor 3, from thread 70 to thread 80.
        vec![8 | 4 << 4 | 1 << 60 | 3 << 20, 10, 70, 80],
        // The name of process 4242.
        vec![7 | 3 << 4 | 1 << 16 | 0x8001 << 24, 4242, u64::from(b'x')],
    ];
    for record in foreign {
        let content = [&strings[..], &thread, &record].concat();
        let (out, collector) = chunk_as(IdentityPolicy::Machine, &content);
        assert_eq!(out, content, "{:?}", collector.stats());
        let (out, collector) = chunk(&content);
        assert_eq!(out, [&strings[..], &[0x1_0033, 1, 5]].concat());
        assert_eq!(collector.stats().rejected[7], 1, "{:?}", collector.stats());
    }
    // An event of another process: the koids are in the record.
    let event = [4 | 4 << 4 | 7 << 32 | 7 << 48, 9, 4242, 4243];
    let (out, _) = chunk_as(IdentityPolicy::Machine, &[&strings[..], &event].concat());
    assert_eq!(out, [&strings[..], &event].concat());
    let (out, _) = chunk(&[&strings[..], &event].concat());
    assert_eq!(out, [&strings[..], &[event[0], 9, 1, 4243]].concat());
    // What is malformed, and what is the manager's, passes for neither.
    let anchor = [4 | 3 << 4 | 1 << 24 | 7 << 32 | 8 << 48, 9, 0];
    let metadata = [0x0000_0001_0001_0010];
    for (record, reason) in [(&anchor[..], 8), (&metadata, 1)] {
        let content = [&strings[..], &thread, record].concat();
        let (out, collector) = chunk_as(IdentityPolicy::Machine, &content);
        assert_eq!(out, [&strings[..], &thread].concat());
        assert_eq!(collector.stats().rejected[reason], 1, "{:?}", collector.stats());
    }
}

/// Clock anchors are the manager's, however a provider spells them.
#[test]
fn forged_events_of_the_manager_are_refused() {
    let thread = [0x1_0033, 1, 5];
    let strings = [string_record(7, "trace"), string_record(8, "clock anchor")].concat();
    let instant = |category: u64, name: u64, behind: &[u64]| {
        let words = 3 + behind.len() as u64;
        [&[4 | words << 4 | 1 << 24 | category << 32 | name << 48, 9], behind, &[0]].concat()
    };
    let category = text("trace");
    let anchor = text("clock anchor");
    let older = text("older records overwritten");
    let forged = [
        instant(7, 8, &[]),
        instant(0x8005, 8, &category),
        instant(7, 0x800c, &anchor),
        instant(0x8005, 0x800c, &[&category[..], &anchor].concat()),
        instant(7, 0x8019, &older),
    ];
    for record in forged {
        let (out, collector) = chunk(&[&thread[..], &strings, &record].concat());
        assert_eq!(out, [&thread[..], &strings].concat());
        assert_eq!(collector.stats().rejected[8], 1, "{:?}", collector.stats());
    }
    // Also where the string gets its meaning between two events that look the same.
    let other = [string_record(7, "trace"), string_record(8, "another")].concat();
    let plain = instant(7, 8, &[]);
    let (out, _) = chunk(&[&thread[..], &other, &plain, &strings, &plain].concat());
    assert_eq!(out, [&thread[..], &other, &plain, &strings].concat());
    let own = [instant(7, 8, &[]), instant(8, 7, &[])].concat();
    let strings = [string_record(7, "app"), string_record(8, "clock anchor")].concat();
    let (out, _) = chunk(&[&thread[..], &strings, &own].concat());
    assert_eq!(out, [&thread[..], &strings, &own].concat(), "names of other categories are free");
}

/// Names of functions would be those of all processes.
#[test]
fn forged_names_of_functions_are_refused() {
    let thread = [0x1_0033, 1, 5];
    let strings = [string_record(7, "trace symbols"), string_record(8, "my symbols")].concat();
    let blob = |name: u64, behind: &[u64]| {
        let words = 2 + behind.len() as u64;
        [&[5 | words << 4 | name << 16 | 1 << 32 | 1 << 48], behind, &[u64::from(b'{')]].concat()
    };
    for record in [blob(7, &[]), blob(0x800d, &text("trace symbols"))] {
        for policy in [IdentityPolicy::Own(1), IdentityPolicy::Machine] {
            let content = [&thread[..], &strings, &record].concat();
            let (out, collector) = chunk_as(policy, &content);
            assert_eq!(out, [&thread[..], &strings].concat());
            assert_eq!(collector.stats().rejected[8], 1, "{:?}", collector.stats());
        }
    }
    let own = [blob(8, &[]), blob(0x800a, &text("my symbols"))].concat();
    let (out, _) = chunk(&[&thread[..], &strings, &own].concat());
    assert_eq!(out, [&thread[..], &strings, &own].concat(), "other names are free");
}

#[test]
fn padding_that_is_not_zero_is_refused() {
    let thread = [0x1_0033, 1, 5];
    let mut bad = string_record(7, "odd");
    bad[1] |= 1 << 63;
    let (out, collector) = chunk(&[&thread[..], &bad].concat());
    assert_eq!((out, collector.stats().rejected[3]), (thread.to_vec(), 1));
}

/// Writes words that a collector takes for something, all the time, until `ends`.
fn keep_writing(file: &File, words: usize, ends: &AtomicBool) {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    while !ends.load(Ordering::Relaxed) {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let (index, value) = ((random >> 33) as usize % words, random >> 16);
        let word = match random >> 62 {
            0 => directory_entry((value % 3) as u32, (value >> 8) as u32 % 40),
            1 => (value % 16) | (((value >> 8) % 40) << 4) | (value << 32),
            2 => value % 8192,
            _ => random,
        };
        file.write_all_at(&word.to_le_bytes(), index as u64 * 8).unwrap();
    }
}

/// Ends the writer, also if the test fails.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A provider may change bytes between their check and their use.
#[test]
#[cfg_attr(miri, ignore)]
fn memory_that_changes_while_it_is_read_gives_well_formed_records() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        let layout = layout(mode, 4096, 8192, 256);
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.set_len(layout.total_size() as u64).unwrap();
        let mapping = ReadMapping::map(file.as_fd(), layout.total_size()).unwrap();
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| keep_writing(&file, layout.total_size() / 8, &ends));
            let _end = EndOnDrop(&ends);
            for _ in 0..500 {
                let mut collector =
                    Collector::new(mapping.clone(), layout, IdentityPolicy::Own(1)).unwrap();
                let mut out = Vec::new();
                let save = collector.copy_rolling(1);
                collector.sanitize(save, &mut out);
                collector.finish(&mut out);
                assert!(out.len() * 8 <= 2 * layout.total_size());
                assert!(records(&out).iter().all(|record| record[0] & 0xf != 0));
            }
        });
    }
}

fn any_words() -> impl Strategy<Value = Vec<(usize, u64)>> {
    let word = prop_oneof![
        any::<u64>(),
        (0u64..16, 0u64..40, any::<u64>())
            .prop_map(|(kind, size, rest)| kind | size << 4 | rest << 16),
        (0u32..4, 0u32..8).prop_map(|(wrap, units)| directory_entry(wrap, units)),
        Just(0),
    ];
    prop::collection::vec((512usize..5120, word), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 400 }, ..ProptestConfig::default() })]

    /// Whatever the memory holds, what comes out frames, has no metadata, and is no larger than
    /// what went in.
    #[test]
    fn any_memory_gives_well_formed_records(words in any_words(), mode in 0u8..3) {
        let mode = BufferingMode::from_u8(mode).unwrap();
        let layout = layout(mode, 4096, 8192, 256);
        let mut memory_words = words.clone();
        memory_words.push((5, 4096));
        let (out, collector) = collect(layout, memory(&layout, memory_words));
        prop_assert!(out.len() * 8 <= layout.total_size());
        let records = records(&out);
        prop_assert_eq!(records.len() as u64, collector.stats().records);
        prop_assert!(records.iter().all(|record| record[0] & 0xf != 0));
    }
}
