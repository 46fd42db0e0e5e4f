//! Scopes whose begin and end have a word each in the buffer.

use proptest::prelude::*;
use trace_format::layout::EventType::{DurationBegin, DurationComplete, DurationEnd};
use trace_format::layout::{event, EventType, StringRef};
use trace_protocol::buffer::consumer::{record_words, IdentityPolicy, Rejection, MOST_WORDS};
use trace_protocol::buffer::function::FunctionWord;
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::{LossReason, OpenScope, Slot};

use crate::harness::{clock, events, layout, Harness, PATIENCE, PROCESS};
use crate::hostile::chunk_in;

const MODES: [BufferingMode; 3] =
    [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming];

/// The function with this number, 0 or 1.
fn function(number: u16) -> FunctionWord {
    FunctionWord::new(StringRef::indexed(100), StringRef::indexed(101 + number)).unwrap()
}

fn kinds(words: &[u64]) -> Vec<(EventType, usize)> {
    events(words).into_iter().map(|(_, kind, record)| (kind, record.len())).collect()
}

/// Names, begins and ends of the scopes that have ended; names and begins of the others.
type Scopes = (Vec<(u64, u64, u64)>, Vec<(u64, u64)>);

/// Returns the scopes as a reader pairs them.
fn scopes(words: &[u64]) -> Scopes {
    let (mut ended, mut open): (Vec<_>, Vec<(u64, u64)>) = Default::default();
    for (_, kind, record) in events(words) {
        let name = event::NameRef::get(record[0]);
        match kind {
            DurationComplete => ended.push((name, record[1], *record.last().unwrap())),
            DurationBegin => open.push((name, record[1])),
            DurationEnd => {
                let place = open.iter().rposition(|(of, _)| *of == name).expect("its begin");
                ended.push((name, open.remove(place).1, record[1]));
            }
            _ => {}
        }
    }
    ended.sort_unstable_by_key(|(_, begin, _)| *begin);
    (ended, open)
}

#[test]
fn scopes_are_what_they_are_without_function_records() {
    for (mode, asymmetric) in MODES.into_iter().flat_map(|mode| [(mode, true), (mode, false)]) {
        let mut harness = Harness::with_functions(mode, 64 << 10, asymmetric);
        let slot = harness.attach(1);
        let outer = harness.enter(slot, function(0), 1000);
        let inner = harness.enter(slot, function(1), 1010);
        harness.end_at(slot, &inner, 1025);
        harness.end_at(slot, &outer, 1030);
        let open = harness.enter(slot, function(1), 1040);
        assert!(open.is_recorded() && open.start() == Some(1040));
        let mut out = Vec::new();
        harness.finish(&mut out);
        let expected = [(DurationComplete, 3), (DurationComplete, 3), (DurationBegin, 2)];
        assert_eq!(kinds(&out), expected, "{mode:?}");
        let expected = (vec![(101, 1000, 1030), (102, 1010, 1025)], vec![(102, 1040)]);
        assert_eq!(scopes(&out), expected, "{mode:?}");
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

#[test]
fn a_call_takes_16_bytes() {
    let mut harness = Harness::with_functions(BufferingMode::Oneshot, 1 << 20, true);
    let slot = harness.attach(1);
    let mut calls = 0;
    loop {
        let scope = harness.enter(slot, function(0), clock());
        if !scope.is_recorded() {
            break;
        }
        harness.end_at(slot, &scope, clock());
        calls += 1;
    }
    let bytes = harness.layout.rolling_size() as u64;
    assert!(calls * 16 > bytes / 100 * 98, "{calls} calls in {bytes} bytes");
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(scopes(&out).0.len() as u64, calls);
    assert_eq!(harness.collector.dropped(), 1);
}

/// A chunk of 256 bytes holds 28 function records. The reader of a chunk does not know those
/// before it.
#[test]
fn an_exit_in_a_later_chunk_is_an_end() {
    for mode in MODES {
        let mut harness = Harness::with_functions(mode, 256 << 10, true);
        let slot = harness.attach(1);
        let outer: Vec<OpenScope> = (0..100)
            .map(|at| harness.enter(slot, function(at % 2), 1000 + u64::from(at)))
            .collect();
        for (at, scope) in (2000..).zip(outer.iter().rev()) {
            harness.end_at(slot, scope, at);
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        let all: Vec<_> = (0..100).map(|at| (101 + at % 2, 1000 + at, 2099 - at)).collect();
        assert_eq!(scopes(&out), (all, Vec::new()), "{mode:?}");
        assert!(kinds(&out).contains(&(DurationEnd, 2)), "{mode:?}");
    }
}

/// The ticks of a function record have 30 bits.
#[test]
fn times_far_apart_have_bases_of_their_own() {
    for mode in MODES {
        let mut harness = Harness::with_functions(mode, 64 << 10, true);
        let slot = harness.attach(1);
        let times = [17, 1 << 30, 3 << 30, (3 << 30) + 5, 1 << 62, u64::MAX - 3, 40, 41];
        let mut expected = Vec::new();
        for pair in times.windows(2) {
            let scope = harness.enter(slot, function(0), pair[0]);
            harness.end_at(slot, &scope, pair[1]);
            expected.push((101, pair[0], pair[1]));
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        expected.sort_unstable_by_key(|(_, begin, _)| *begin);
        assert_eq!(scopes(&out).0, expected, "{mode:?}");
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

/// The last word of a chunk has no space for a base and a record.
#[test]
fn a_base_at_the_end_of_a_chunk_is_in_the_next_one() {
    for filled in 0..40 {
        let mut harness = Harness::with_functions(BufferingMode::Oneshot, 64 << 10, true);
        let slot = harness.attach(1);
        let mut now = clock();
        let mut expected = Vec::new();
        for step in std::iter::repeat_n(1, filled).chain([1 << 31, 1 << 31, 1]) {
            let scope = harness.enter(slot, function(0), now);
            harness.end_at(slot, &scope, now + step);
            expected.push((101, now, now + step));
            now += step;
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(scopes(&out), (expected, Vec::new()), "{filled}");
        assert_eq!(harness.collector.stats().rejections(), 0);
    }
}

#[test]
fn a_scope_over_a_save_is_a_begin_and_an_end() {
    for asymmetric in [true, false] {
        let mut harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, asymmetric);
        let slot = harness.attach(1);
        let scope = harness.enter(slot, function(0), 1000);
        let mut out = Vec::new();
        harness.recorder.flush();
        harness.save(0, &mut out);
        assert_eq!(kinds(&out), [(DurationBegin, 2)]);
        harness.end_at(slot, &scope, 1010);
        harness.finish(&mut out);
        assert_eq!(kinds(&out), [(DurationBegin, 2), (DurationEnd, 2)]);
        assert_eq!(scopes(&out).0, [(101, 1000, 1010)]);
    }
}

#[test]
fn a_scope_over_circular_switches_is_shown_once() {
    for switches in 1..=8 {
        let mut harness = Harness::with_functions(BufferingMode::Circular, 1 << 20, true);
        let slot = harness.attach(1);
        let scope = harness.enter(slot, function(0), 1000);
        for wrap in 0..switches {
            harness.recorder.flush();
            harness.recorder.quiesce(PATIENCE);
            harness.recorder.mark_saved(wrap);
            assert!(harness.instant(slot, 1));
        }
        harness.end_at(slot, &scope, 1010);
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(scopes(&out), (vec![(101, 1000, 1010)], Vec::new()), "{switches}");
        let is_complete = kinds(&out).contains(&(DurationComplete, 3));
        assert_eq!(is_complete, switches == 8, "the entry is overwritten");
    }
}

/// The last word of the epoch has no space for a base before the exit, and the next epochs
/// overwrite the entry.
#[test]
fn an_exit_is_in_no_other_epoch_than_its_entry() {
    let layout = layout(BufferingMode::Circular, 4096, 4096, 256).with_function_records(true);
    let mut checked = 0;
    for filled in 0.. {
        let mut harness = Harness::of_layout(7, layout, true);
        let slot = harness.attach(1);
        for _ in 0..filled {
            harness.enter(slot, function(1), 1000);
        }
        let scope = harness.enter(slot, function(0), 1000);
        let inner = harness.enter(slot, function(1), 1010);
        harness.end_at(slot, &inner, 1020);
        if harness.recorder.current() != Some(0) {
            break;
        }
        harness.end_at(slot, &scope, 1 << 40);
        if harness.recorder.current() == Some(0) {
            continue;
        }
        harness.recorder.quiesce(PATIENCE);
        harness.recorder.mark_saved(0);
        harness.recorder.flush();
        assert!(harness.instant(slot, 1));
        assert_eq!(harness.recorder.current(), Some(2));
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(scopes(&out), (vec![(101, 1000, 1 << 40)], Vec::new()), "{filled}");
        checked += 1;
    }
    assert_ne!(checked, 0);
}

/// Its thread was in the trace point for longer than the stop waited for it. The buffer of the next
/// recording permits no function records.
#[test]
fn a_late_entry_is_not_in_the_next_recording() {
    for mode in MODES {
        let mut harness = Harness::with_functions(mode, 64 << 10, true);
        let slot = harness.attach(1);
        let open = slot.open(harness.recorder, 3).unwrap();
        harness.abandon(harness.layout.with_function_records(false));
        let scope = OpenScope::enter(open, function(0), harness.recorder, || 1 << 40);
        assert!(!scope.is_recorded());
        assert!(harness.instant(slot, 1));
        let mut out = Vec::new();
        harness.finish(&mut out);
        assert_eq!(kinds(&out), [(EventType::Instant, 2)], "{mode:?}");
        assert_eq!(harness.collector.stats().rejections(), 0, "{mode:?}");
    }
}

/// The exits of eight scopes are kept until the end, with their times. Those of others are lost.
#[test]
fn exits_that_find_no_space_are_kept_or_counted() {
    for (mode, reason) in [
        (BufferingMode::Oneshot, LossReason::BufferFull),
        (BufferingMode::Streaming, LossReason::NotSaved),
    ] {
        let mut harness = Harness::with_functions(mode, 64 << 10, true);
        let slot = harness.attach(1);
        let outer: Vec<_> = (0..10).map(|_| harness.enter(slot, function(0), clock())).collect();
        while harness.enter(slot, function(1), clock()).is_recorded() {}
        while harness.instant(slot, 1) {}
        while slot.write(harness.recorder, &[0x14]) {}
        for scope in outer.iter().rev() {
            harness.end_at(slot, scope, clock());
        }
        let mut out = Vec::new();
        harness.finish(&mut out);
        let ends = kinds(&out).iter().filter(|(kind, _)| *kind == DurationEnd).count();
        assert_eq!(ends, 8, "{mode:?}");
        let lost = harness.collector.unreported();
        assert!(lost.iter().all(|lost| lost.reason == reason), "{lost:?}");
        assert_eq!(harness.collector.dropped(), 3 + 2, "{mode:?}");
    }
}

#[test]
fn a_scope_of_an_earlier_recording_or_another_process_leaves_nothing() {
    for mode in MODES {
        let mut harness = Harness::with_functions(mode, 64 << 10, true);
        let slot = harness.attach(1);
        let scope = harness.enter(slot, function(0), 1000);
        harness.finish(&mut Vec::new());
        harness.end_at(slot, &scope, 1010);
        harness.collector.restart();
        harness.recorder.start();
        harness.end_at(slot, &scope, 1010);
        let child = Harness::of_layout(9, harness.layout, true);
        child.end_at(child.attach(1), &scope, 1010);
        for mut harness in [harness, child] {
            let mut out = Vec::new();
            harness.finish(&mut out);
            let ends = kinds(&out).iter().filter(|(kind, _)| *kind != DurationBegin).count();
            assert_eq!(ends, 0, "{mode:?}");
        }
    }
}

/// Threads that follow one another share a slot, and its chunk.
#[test]
fn an_exit_belongs_to_its_thread() {
    let mut harness = Harness::with_functions(BufferingMode::Oneshot, 64 << 10, true);
    let slot = harness.attach(1);
    let _open = harness.enter(slot, function(0), 1000);
    harness.recorder.detach(slot);
    let slot = harness.attach(2);
    let scope = harness.enter(slot, function(0), 1010);
    harness.end_at(slot, &scope, 1020);
    let mut out = Vec::new();
    harness.finish(&mut out);
    let found: Vec<_> =
        events(&out).into_iter().map(|(thread, kind, record)| (thread, kind, record[1])).collect();
    assert_eq!(found, [(1, DurationBegin, 1000), (2, DurationComplete, 1010)]);
}

/// A signal handler that interrupts a record.
#[test]
fn a_nested_entry_or_exit_is_counted() {
    let mut harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, true);
    let slot = harness.attach(1);
    let scope = harness.enter(slot, function(0), 1000);
    let open = slot.open(harness.recorder, 2).unwrap();
    assert!(!harness.enter(slot, function(1), 1010).is_recorded());
    harness.end_at(slot, &scope, 1020);
    open.abandon();
    let mut out = Vec::new();
    harness.finish(&mut out);
    assert_eq!(scopes(&out), (Vec::new(), vec![(101, 1000)]));
    assert_eq!(harness.accounted(), 2);
}

/// A signal handler ends a scope of the recording before.
#[test]
fn a_nested_exit_of_an_earlier_recording_is_not_counted() {
    let mut harness = Harness::with_functions(BufferingMode::Streaming, 64 << 10, true);
    let slot = harness.attach(1);
    let scope = harness.enter(slot, function(0), 1000);
    harness.finish(&mut Vec::new());
    harness.renew();
    let open = slot.open(harness.recorder, 2).unwrap();
    harness.end_at(slot, &scope, 1020);
    open.abandon();
    harness.finish(&mut Vec::new());
    assert_eq!((harness.accounted(), harness.collector.dropped()), (0, 0));
}

/// While a chunk is written, a copy has each entry and each exit whole.
#[test]
fn a_copy_has_all_that_is_committed() {
    for mode in MODES {
        let harness = Harness::with_functions(mode, 256 << 10, true);
        let slot = harness.attach(1);
        for round in 0..200 {
            let scope = harness.enter(slot, function(0), clock());
            let copied = |scopes_open| {
                let mut copy = harness.collector.clone();
                let (live, mut out) = (copy.copy_live(), Vec::new());
                copy.finish_copy(live, &mut out);
                let (ended, open) = scopes(&out);
                assert_eq!((ended.len(), open.len()), (round, scopes_open), "{mode:?}");
            };
            copied(1);
            harness.end_at(slot, &scope, clock());
            if round == 199 {
                break;
            }
        }
    }
}

fn hostile(content: &[u64], function_records: bool) -> (Vec<u64>, [u64; Rejection::ALL.len()]) {
    let layout = layout(BufferingMode::Oneshot, 4096, 4096, 256);
    let layout = layout.with_function_records(function_records);
    let (out, collector) = chunk_in(layout, IdentityPolicy::Own(PROCESS), content);
    let rejected = collector.stats().rejected;
    (out, rejected)
}

/// Words of the chunk of [`chunk_in`].
const CHUNK_WORDS: usize = 128;

const THREAD: [u64; 3] = [0x1_0033, 99, 5];

#[test]
fn function_records_are_refused_where_they_are_not_permitted() {
    let content = [&THREAD[..], &[0x3e8e, 0xc | 5 << 34]].concat();
    let (out, rejected) = hostile(&content, false);
    assert!(events(&out).is_empty());
    assert_ne!(
        rejected[Rejection::UnknownType as usize] + rejected[Rejection::Framing as usize],
        0
    );
}

#[test]
fn hostile_function_records_are_counted() {
    let entry = 0xc | 5 << 34;
    let unregistered = 7 << 4 | 8 << 19;
    for (what, content, rejection) in [
        ("no base", vec![entry], Rejection::Content),
        ("no base, exit", vec![entry ^ 1], Rejection::Content),
        ("string", vec![0x3e8e, entry | unregistered], Rejection::StringRef),
        ("string of an exit", vec![0x3e8e, entry ^ 1 | unregistered], Rejection::StringRef),
    ] {
        let (_, rejected) = hostile(&[&THREAD[..], &content].concat(), true);
        assert_eq!(rejected[rejection as usize], 1, "{what}");
        assert_eq!(rejected.iter().sum::<u64>(), 1, "{what}");
    }
    let (_, rejected) = hostile(&[0x3e8e, entry], true);
    assert_eq!(rejected[Rejection::ThreadRef as usize], 1, "no thread record");
}

/// A record that is cut by the end of its chunk, among function records.
#[test]
fn a_record_that_does_not_frame_ends_the_chunk() {
    let entry = 0xc | 5 << 34;
    let content = [&THREAD[..], &[0x3e8e, entry, 0xfff4, entry ^ 1]].concat();
    let (out, rejected) = hostile(&content, true);
    assert_eq!(rejected[Rejection::Framing as usize], 1);
    let header = out[out.len() - 2];
    assert_eq!(event::EventType::get(header), DurationBegin.bits());
}

/// What one of two recorders does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Enter(u16),
    End,
    Instant,
    Save,
}

fn steps() -> impl Strategy<Value = Vec<(Step, u64)>> {
    let step = prop_oneof![
        6 => (0u16..2).prop_map(Step::Enter),
        6 => Just(Step::End),
        1 => Just(Step::Instant),
        1 => Just(Step::Save),
    ];
    let ticks = prop_oneof![20 => 1u64..100, 1 => Just(1 << 30), 1 => Just((1 << 30) + 7)];
    proptest::collection::vec((step, ticks), 1..300)
}

/// Returns the scopes of a recording of these steps.
fn run(
    mut harness: Harness,
    steps: &[(Step, u64)],
    begin: impl Fn(&Harness, &Slot, u16, u64) -> OpenScope,
) -> Scopes {
    let slot = harness.attach(1);
    let (mut now, mut open, mut out, mut wrap) = (1000, Vec::new(), Vec::new(), 0);
    for (step, ticks) in steps {
        now += ticks;
        match step {
            Step::Enter(number) => open.push(begin(&harness, slot, *number, now)),
            Step::End => {
                if let Some(scope) = open.pop() {
                    harness.end_at(slot, &scope, now);
                }
            }
            Step::Instant => drop(harness.instant(slot, now)),
            Step::Save => {
                harness.recorder.flush();
                while harness.recorder.current() > Some(wrap) {
                    match harness.layout.mode() {
                        BufferingMode::Streaming => harness.save(wrap, &mut out),
                        _ => {
                            harness.recorder.quiesce(PATIENCE);
                            harness.recorder.mark_saved(wrap);
                        }
                    }
                    wrap += 1;
                }
            }
        }
    }
    harness.finish(&mut out);
    assert_eq!(harness.collector.stats().rejections(), 0);
    assert_eq!(harness.collector.dropped(), 0);
    scopes(&out)
}

fn begin_with_record(harness: &Harness, slot: &Slot, number: u16, at: u64) -> OpenScope {
    let Some(open) = slot.open(harness.recorder, 3) else { return OpenScope::NOT_RECORDED };
    open.words()[1].store(at, std::sync::atomic::Ordering::Relaxed);
    let header = crate::harness::header(DurationBegin, 3);
    let header = event::NameRef::set(header, u64::from(101 + number));
    OpenScope::begin(open, header, at)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The scopes of a recording do not depend on the form of its records in the buffer.
    #[test]
    fn both_forms_have_the_same_scopes(steps in steps(), mode in 0usize..3) {
        let (mode, size) = (MODES[mode], 4 << 20);
        let plain = run(Harness::new(mode, size), &steps, begin_with_record);
        let functions = run(
            Harness::with_functions(mode, size, true),
            &steps,
            |harness, slot, number, at| harness.enter(slot, function(number), at),
        );
        prop_assert_eq!(functions, plain);
    }

    #[test]
    fn any_words_are_collected_into_three_times_as_many(
        words in proptest::collection::vec(prop_oneof![
            any::<u64>(),
            (12u64..15, any::<u64>()).prop_map(|(kind, word)| word & !0x3_ffff_ffff | kind),
            Just(0x3e8e),
            Just(0x1_0033),
            Just(0x0007_0007_0100_0024),
        ], 0..128),
    ) {
        let (out, _) = hostile(&words, true);
        prop_assert!(out.len() <= CHUNK_WORDS * MOST_WORDS);
        let mut rest = out.as_slice();
        while let Some(header) = rest.first() {
            rest = &rest[record_words(*header).unwrap()..];
        }
    }
}
