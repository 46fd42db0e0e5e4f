use trace_format::layout::ProviderEvent;
use trace_format::{
    Argument, Arguments, Event, EventKind, Text, Thread, ThreadKoids, Value, Writer,
};

use super::*;
use crate::slice::{self, Plan, Selection};
use trace_analyze::check::{self, Verdict};

const SECOND: u64 = 1_000_000_000;

/// A provider's clock and boot time.
struct Machine {
    /// The boot time, in nanoseconds of the wall clock.
    boot: u64,
    ticks_per_second: u64,
    /// The provider's ticks at boot.
    ticks_at_boot: u64,
    /// The nanoseconds by which the wall clock is set between the anchors.
    set: u64,
}

impl Machine {
    fn ticks(&self, since_boot: u64) -> u64 {
        let ticks = u128::from(since_boot) * u128::from(self.ticks_per_second);
        self.ticks_at_boot + (ticks / u128::from(SECOND)) as u64
    }

    fn anchor(&self, writer: &mut Writer<Vec<u8>>, since_boot: u64, set: u64) {
        let ticks = self.ticks(since_boot);
        let arguments = [
            Argument::new("ticks", Value::Uint64(ticks)),
            Argument::new("realtime_ns", Value::Uint64(self.boot + since_boot + set)),
            Argument::new("boottime_ns", Value::Uint64(since_boot)),
        ];
        let kind = EventKind::Instant { scope: None };
        let event =
            Event { arguments: (&arguments).into(), ..event("trace", "clock anchor", ticks, kind) };
        writer.record(&event.into()).unwrap();
    }

    /// Returns an archive with one event, of these times since boot.
    fn archive(&self, name: &str, begin: u64, end: u64) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.provider(7, "app").unwrap();
        // The rate is slightly wrong, like an estimated one.
        writer.initialization(self.ticks_per_second + 1000).unwrap();
        self.anchor(&mut writer, begin - SECOND, 0);
        let kind = EventKind::DurationComplete { end: self.ticks(end) };
        writer.record(&event("cat", name, self.ticks(begin), kind).into()).unwrap();
        self.anchor(&mut writer, end + SECOND, self.set);
        writer.into_inner()
    }
}

fn event<'a>(category: &'a str, name: &'a str, ticks: u64, kind: EventKind) -> Event<'a> {
    let thread = Thread::Inline(ThreadKoids::new(1, 2));
    let (category, name) = (Text::from(category), Text::from(name));
    Event { ticks, thread, category, name, kind, arguments: Arguments::NONE }
}

fn merged(archives: &[Vec<u8>]) -> (Vec<u8>, Summary, bool) {
    let clocks: Vec<Clocks> =
        archives.iter().map(|archive| Clocks::read(Reader::new(&**archive)).unwrap()).collect();
    let mut output = Vec::new();
    let mut merger = Merger::new(&mut output, &clocks).unwrap();
    let is_realtime = merger.is_realtime();
    for archive in archives {
        merger.add("file", Reader::new(&**archive)).unwrap();
    }
    let summary = merger.finish().unwrap();
    (output, summary, is_realtime)
}

/// Returns the complete events: provider, name, begin and end in nanoseconds.
fn events(archive: &[u8]) -> Vec<(u32, String, u64, u64)> {
    let mut reader = Reader::new(archive);
    let mut events = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::Event(event) = &item.record {
            if let EventKind::DurationComplete { end } = event.kind {
                let name = item.text(event.name).into_owned();
                let id = item.provider.id().unwrap();
                events.push((id, name, item.nanos(event.ticks), item.nanos(end)));
            }
        }
    }
    events
}

const WALL: u64 = 1_700_000_000 * SECOND;

#[test]
fn archives_of_one_boot() {
    let fast =
        Machine { boot: WALL, ticks_per_second: 2_400_000_000, ticks_at_boot: 1 << 50, set: 0 };
    let slow =
        Machine { boot: WALL + 1000, ticks_per_second: 24_000_000, ticks_at_boot: 0, set: 0 };
    let archives = [
        fast.archive("a", 100 * SECOND, 101 * SECOND),
        slow.archive("b", 200 * SECOND, 205 * SECOND),
    ];
    let (output, summary, is_realtime) = merged(&archives);
    assert!(!is_realtime);
    assert_eq!((summary.providers, summary.events + summary.others), (2, 6));
    assert_eq!(
        events(&output),
        [
            (1, "a".to_owned(), 100 * SECOND, 101 * SECOND),
            (2, "b".to_owned(), 200 * SECOND, 205 * SECOND),
        ]
    );
    assert_eq!(check::check(Reader::new(&*output)).unwrap().verdict(), Verdict::Complete);
    // The anchors are those of the new clock.
    let again = merged(std::slice::from_ref(&output));
    assert_eq!(events(&again.0), events(&output));
}

#[test]
fn archives_of_two_machines() {
    let one = Machine { boot: WALL, ticks_per_second: SECOND, ticks_at_boot: 0, set: 0 };
    let other =
        Machine { boot: WALL - 5000 * SECOND, ticks_per_second: SECOND, ticks_at_boot: 9, set: 0 };
    // Both begin at the same time.
    let archives = [
        one.archive("a", 100 * SECOND, 101 * SECOND),
        other.archive("b", 5100 * SECOND, 5101 * SECOND),
    ];
    let (output, _, is_realtime) = merged(&archives);
    assert!(is_realtime);
    let events = events(&output);
    assert_eq!((events[0].2, events[0].3), (events[1].2, events[1].3));
    assert_eq!(events[0].3 - events[0].2, SECOND);
}

#[test]
fn times_without_anchors_are_kept() {
    let records = [Record::from(event("cat", "x", 5, EventKind::DurationComplete { end: 9 }))];
    let archive = crate::testing::archive(&records);
    let (output, summary, _) = merged(&[archive.clone(), archive]);
    assert_eq!(summary.without_anchor, [(0, "app".to_owned()), (1, "app".to_owned())]);
    assert_eq!(events(&output), [(1, "x".to_owned(), 5, 9), (2, "x".to_owned(), 5, 9)]);
}

#[test]
fn a_wall_clock_that_was_set_is_reported() {
    let steady = Machine { boot: WALL, ticks_per_second: SECOND, ticks_at_boot: 0, set: 0 };
    let other = Machine { boot: WALL - 5000 * SECOND, set: 10 * SECOND, ..steady };
    let archives = [
        steady.archive("a", 100 * SECOND, 101 * SECOND),
        other.archive("b", 5100 * SECOND, 5101 * SECOND),
    ];
    let (output, summary, is_realtime) = merged(&archives);
    assert!(is_realtime);
    let events = events(&output);
    assert_eq!((events[0].2, events[0].3), (events[1].2, events[1].3));
    assert_eq!(summary.wall_clock_set, [("app".to_owned(), 10 * SECOND as i64)]);
}

#[test]
fn provider_events_of_a_provider_without_records_are_kept() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider_event(7, ProviderEvent::BUFFER_FULL).unwrap();
    writer.provider(8, "app").unwrap();
    writer.record(&event("cat", "x", 5, EventKind::DurationBegin).into()).unwrap();
    let (output, summary, _) = merged(&[writer.into_inner()]);
    assert_eq!((summary.providers, summary.damage[0].buffers_full), (2, 1));
    assert_eq!(check::check(Reader::new(&*output)).unwrap().damage.buffers_full, 1);
}

#[test]
fn unresolved_references_stay_unresolved() {
    let broken = Event {
        thread: Thread::UNKNOWN,
        name: Text::UNKNOWN,
        ..event("cat", "", 5, EventKind::DurationBegin)
    };
    let archive = crate::testing::archive(&[broken.into()]);
    let verdict = |archive: &[u8]| {
        let report = check::check(Reader::new(archive)).unwrap();
        (report.verdict(), report.damage.audit.unknown_strings, report.damage.audit.unknown_threads)
    };
    assert_eq!(verdict(&archive), (Verdict::Malformed, 1, 1));
    assert_eq!(verdict(&merged(std::slice::from_ref(&archive)).0), (Verdict::Malformed, 1, 1));
    let (selection, mut output) = (Selection::default(), Vec::new());
    let plan = Plan::read(Reader::new(&*archive), &selection).unwrap();
    slice::write(Reader::new(&*archive), &plan, &mut output).unwrap();
    assert_eq!(verdict(&output), (Verdict::Malformed, 1, 1));
}

/// Returns the koids and flow ids of all events.
fn who(archive: &[u8]) -> Vec<(u64, u64, Option<u64>)> {
    let (mut all, mut reader) = (Vec::new(), Reader::new(archive));
    while let Some(item) = reader.next().unwrap() {
        if let Record::Event(event) = &item.record {
            let ThreadKoids { process, thread } = item.thread(event.thread);
            let id = match event.kind {
                EventKind::FlowBegin { id } | EventKind::FlowEnd { id } => Some(id),
                _ => None,
            };
            all.push((process, thread, id));
        }
    }
    all
}

#[test]
fn processes_of_another_boot_get_other_koids() {
    const UNIT: u64 = 1 << 22;
    let one = Machine { boot: WALL, ticks_per_second: SECOND, ticks_at_boot: 0, set: 0 };
    let other = Machine { boot: WALL - 5000 * SECOND, ..one };
    let archives = [
        one.archive("a", 100 * SECOND, 101 * SECOND),
        other.archive("b", 5100 * SECOND, 5101 * SECOND),
        one.archive("c", 200 * SECOND, 201 * SECOND),
    ];
    let koids = [(1, 2, None), (1 + UNIT, 2 + UNIT, None), (1, 2, None)];
    let output = merged(&archives).0;
    assert_eq!(who(&output), koids.map(|koids| [koids; 3]).concat());
    // Merging the result with a third archive keeps the koids distinct.
    let third = Machine { boot: WALL + 5000 * SECOND, ..one };
    let more = [output, third.archive("d", 2 * SECOND, 3 * SECOND)];
    let processes: Vec<u64> = who(&merged(&more).0).iter().map(|who| who.0).collect();
    assert_eq!(processes[..9], koids.map(|koids| [koids.0; 3]).concat());
    assert_eq!(processes[9..], [1 + 2 * UNIT; 3]);
}

#[test]
fn flows_that_begin_twice_are_counted() {
    let flow = |begins: &[u64], ends: &[u64]| {
        let begins = begins.iter().map(|id| EventKind::FlowBegin { id: *id });
        let kinds = begins.chain(ends.iter().map(|id| EventKind::FlowEnd { id: *id }));
        let records: Vec<Record<'_>> =
            kinds.map(|kind| event("cat", "flow", 5, kind).into()).collect();
        crate::testing::archive(&records)
    };
    let (output, summary, _) = merged(&[flow(&[1, 2, 3], &[1]), flow(&[1], &[1, 2])]);
    assert_eq!(summary.repeated_flows, 1);
    let ids: Vec<u64> = who(&output).iter().filter_map(|who| who.2).collect();
    assert_eq!(ids, [1, 2, 3, 1, 1, 1, 2]);
}
