//! Damaged archives: every analysis ends without a panic, and the archives that are written are
//! valid.

use proptest::prelude::*;
use trace_analyze::check::{self, Verdict};
use trace_analyze::critical::{self, Choice};
use trace_analyze::diff::{self, Measure};
use trace_analyze::schedule::Schedule;
use trace_analyze::stats::{self, Grouping};
use trace_convert::csv::Rows;
use trace_convert::merge::{Clocks, Merger};
use trace_convert::slice::{self, Selection};
use trace_convert::stacks::Stacks;
use trace_convert::timeline::Timeline;
use trace_convert::{chrome, perfetto, ConvertError};
use trace_format::audit::Audit;
use trace_format::layout::{ObjectType, ThreadState};
use trace_format::{
    Argument, Arguments, ContextSwitch, Event, EventKind, KernelObject, Log, Reader, Record,
    Thread, ThreadKoids, Value, Writer,
};

fn event(ticks: u64, name: &'static str, kind: EventKind) -> Event<'static> {
    let thread = Thread::Inline(ThreadKoids::new(1, 2 + ticks % 2));
    let (category, name) = ("cat".into(), name.into());
    Event { ticks, thread, category, name, kind, arguments: Arguments::NONE }
}

/// Returns the words of an archive with all record types.
fn archive() -> Vec<u64> {
    use EventKind::*;
    let mut writer = Writer::new(Vec::new()).unwrap();
    let task = [Argument::new("task", Value::Uint64(1)), Argument::new("parent", Value::Uint64(1))];
    for provider in [1, 2] {
        writer.provider(provider, "app").unwrap();
        writer.initialization(1_000_000 * u64::from(provider)).unwrap();
        let (object_type, name) = (ObjectType::PROCESS, "app".into());
        let arguments = Arguments::NONE;
        let process = KernelObject { object_type, koid: 1, name, arguments };
        writer.record(&process.into()).unwrap();
        for (ticks, name, kind) in [
            (10, "outer", DurationBegin),
            (20, "whole", DurationComplete { end: 40 }),
            (24, "whole", DurationComplete { end: 30 }),
            (12, "late", DurationComplete { end: 50 }),
            (60, "outer", DurationEnd),
            (70, "op", AsyncBegin { id: 1 }),
            (72, "arrow", FlowBegin { id: 2 }),
            (74, "op", AsyncEnd { id: 1 }),
            (78, "arrow", FlowEnd { id: 2 }),
            (80, "n", Counter { id: 3 }),
            (82, "open", DurationBegin),
            (84, "records dropped", Instant { scope: None }),
        ] {
            let arguments = (&task).into();
            writer.record(&Event { arguments, ..event(ticks, name, kind) }.into()).unwrap();
        }
        let anchor = [10u64, 20, 30].map(Value::Uint64);
        let anchor = [
            Argument::new("ticks", anchor[0]),
            Argument::new("realtime_ns", anchor[1]),
            Argument::new("boottime_ns", anchor[2]),
        ];
        let event = event(90, "clock anchor", Instant { scope: None });
        let event = Event { category: "trace".into(), arguments: (&anchor).into(), ..event };
        writer.record(&event.into()).unwrap();
        let thread = Thread::Inline(ThreadKoids::new(1, 2));
        writer.record(&Log { ticks: 91, thread, message: b"hello" }.into()).unwrap();
        for (ticks, outgoing_thread, incoming_thread) in [(15, 9, 2), (35, 2, 9)] {
            let (outgoing_state, arguments) = (ThreadState(0), Arguments::NONE);
            let switch = ContextSwitch {
                ticks,
                cpu: 0,
                outgoing_state,
                outgoing_thread,
                incoming_thread,
                arguments,
            };
            writer.record(&Record::from(switch)).unwrap();
        }
    }
    let bytes = writer.into_inner();
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Runs all analyses and conversions.
fn analyse(archive: &[u8]) -> Result<(), ConvertError> {
    let schedule = Schedule::read(Reader::new(archive))?;
    let report = stats::collect(Reader::new(archive), Grouping::Thread, Some(&schedule))?;
    assert!(report.to_json().is_object());
    let report = [diff::read(Reader::new(archive), Grouping::Together, Measure::Length)?];
    let changes = diff::compare(&report, &report, &diff::Options::default());
    assert!(changes.iter().all(|change| change.verdict != diff::Verdict::Slower));
    let stacks = Stacks::read(Reader::new(archive))?;
    let folded = stacks.folded(Grouping::Thread).unwrap();
    assert!(folded.stacks().all(|(stack, _)| stack.matches(';').count() > 1));
    stacks.speedscope("x", std::io::sink()).unwrap();
    Rows::read(Reader::new(archive))?.write(std::io::sink()).unwrap();
    chrome::write(Reader::new(archive), std::io::sink())?;
    perfetto::write(Reader::new(archive), std::io::sink())?;
    let timeline = Timeline::read(Reader::new(archive), 1_000)?;
    timeline.html("x", &mut std::io::sink()).unwrap();
    timeline.svg("x", &mut std::io::sink()).unwrap();
    for flows in [false, true] {
        let choice = Choice { flows, ..Choice::default() };
        if let Some(chosen) = critical::slowest(Reader::new(archive), &choice)?.slowest {
            critical::path(&chosen, || Ok::<_, ConvertError>(Reader::new(archive)))?;
        }
    }
    let mut output = Vec::new();
    let selection = Selection { from: 15_000, to: Some(75_000), ..Selection::default() };
    let plan = slice::Plan::read(Reader::new(archive), &selection)?;
    let summary = slice::write(Reader::new(archive), &plan, &mut output)?;
    assert!(unresolved(&output) <= unresolved_references(&summary.damage.audit));
    let clocks = [Clocks::read(Reader::new(archive))?, Clocks::read(Reader::new(archive))?];
    let mut output = Vec::new();
    let mut merger = Merger::new(&mut output, &clocks)?;
    merger.add("one", Reader::new(archive))?;
    merger.add("other", Reader::new(archive))?;
    let summary = merger.finish()?;
    let counts = summary.damage.iter().map(|damage| unresolved_references(&damage.audit));
    assert!(unresolved(&output) <= counts.sum::<u64>());
    Ok(())
}

/// Asserts that an archive is valid, except for unresolved references; returns their number.
fn unresolved(archive: &[u8]) -> u64 {
    let report = check::check(Reader::new(archive)).unwrap();
    let lead_nowhere = unresolved_references(&report.damage.audit);
    assert_eq!(report.verdict() == Verdict::Malformed, lead_nowhere > 0, "{report:?}");
    assert_eq!(report.error_count, 0, "{report:?}");
    lead_nowhere
}

fn unresolved_references(audit: &Audit) -> u64 {
    audit.unknown_strings + audit.unknown_threads
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn undamaged_archives() {
    analyse(&bytes(&archive())).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_damage(
        changes in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..8),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut words = archive();
        for (index, change) in changes {
            // Without its first word it is not an archive.
            let place = 1 + index.index(words.len() - 1);
            words[place] = match change {
                Damage::Set(value) => value,
                Damage::Flip(bit) => words[place] ^ 1 << bit,
            };
        }
        let mut bytes = bytes(&words);
        if let Some(cut) = cut {
            bytes.truncate(8 + cut.index(bytes.len() - 8));
        }
        analyse(&bytes).unwrap();
    }
}

/// The damage of a word.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Set(u64),
    Flip(u32),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<u64>().prop_map(Damage::Set),
        prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(i64::MAX as u64)].prop_map(Damage::Set),
        (0..64u32).prop_map(Damage::Flip),
    ]
}
