//! The time span of an archive, and its processes and threads.

use std::collections::BTreeSet;
use std::io::Read;

use trace_format::layout::ObjectType;
use trace_format::{
    ContextSwitch, Event, EventKind, Item, LegacyContextSwitch, ReadError, Reader, Record,
    ThreadWakeup,
};

pub use crate::own::is_own;
use crate::own::is_written_anchor;
use crate::{Damage, Gap};

/// The most names of each kind.
const MAX_NAMES: usize = 1 << 20;

/// The time span of an archive, and its processes and threads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extent {
    /// The earliest time of an event, in nanoseconds of its provider's clock. Without events, that
    /// of a scheduling record, or `None` if there is none either.
    pub start: Option<u64>,
    /// The latest begin or end of an event, or the latest scheduling record.
    pub end: Option<u64>,
    /// The first and the last time of all that a part of the archive can have: events, scheduling
    /// and log records, samples, losses, and the end of the recording, until which open durations
    /// last.
    pub records: Option<(u64, u64)>,
    /// The end of the recording, if it is later: the last clock anchor.
    pub recorded_until: Option<u64>,
    /// Koids of processes with their names.
    pub processes: Vec<(u64, String)>,
    /// Koids of threads with their names.
    pub threads: Vec<(u64, String)>,
}

/// Reads the extent of an archive. The tracing system's own events, of the category `trace`, are
/// ignored.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn read<R: Read>(reader: Reader<R>) -> Result<Extent, ReadError> {
    let mut extent = Extent::default();
    let (mut scheduling, mut anchor) = (None, None);
    let (mut processes, mut threads) = (BTreeSet::new(), BTreeSet::new());
    Damage::of_all(reader, |item| match item.record {
        Record::Event(event) if is_written_anchor(item, &event) => {
            anchor = anchor.max(Some(item.nanos(event.ticks)));
        }
        Record::Event(event) => extent.event(item, &event),
        Record::ContextSwitch(ContextSwitch { ticks, .. })
        | Record::LegacyContextSwitch(LegacyContextSwitch { ticks, .. })
        | Record::ThreadWakeup(ThreadWakeup { ticks, .. }) => {
            let nanos = item.nanos(ticks);
            widen(&mut scheduling, nanos, nanos);
        }
        Record::KernelObject(object) => {
            let names = match object.object_type {
                ObjectType::PROCESS => &mut processes,
                ObjectType::THREAD => &mut threads,
                _ => return,
            };
            if names.len() < MAX_NAMES {
                names.insert((object.koid, item.text(object.name).into_owned()));
            }
        }
        // Logs, samples, blobs, and those that other versions may have.
        mut record => {
            for nanos in record.times().map(|ticks| item.nanos(*ticks)) {
                widen(&mut extent.records, nanos, nanos);
            }
        }
    })?;
    extent.processes = processes.into_iter().collect();
    extent.threads = threads.into_iter().collect();
    extent.finish(scheduling, anchor);
    Ok(extent)
}

impl Extent {
    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let nanos = item.nanos(event.ticks);
        if is_own(item, event) {
            let gap = Gap::of(item, event);
            let (from, to) = gap.map_or((nanos, nanos), |gap| {
                (item.nanos(gap.from).min(nanos), item.nanos(gap.to).max(nanos))
            });
            return widen(&mut self.records, from, to);
        }
        let last = match event.kind {
            EventKind::DurationComplete { end } => item.nanos(end).max(nanos),
            _ => nanos,
        };
        self.start = Some(self.start.map_or(nanos, |start| start.min(nanos)));
        self.end = self.end.max(Some(last));
    }

    /// Adds the extent of scheduling records, and the last clock anchor.
    fn finish(&mut self, scheduling: Option<(u64, u64)>, anchor: Option<u64>) {
        let events = self.start.zip(self.end);
        if let Some((start, end)) = events.or(scheduling) {
            (self.start, self.end) = (Some(start), Some(end));
            self.recorded_until = anchor.filter(|anchor| *anchor > end);
        }
        for (from, to) in events.into_iter().chain(scheduling) {
            widen(&mut self.records, from, to);
        }
        if let (Some((_, last)), Some(anchor)) = (&mut self.records, anchor) {
            *last = anchor.max(*last);
        }
    }
}

/// Extends a range of time.
fn widen(range: &mut Option<(u64, u64)>, from: u64, to: u64) {
    let (first, last) = range.unwrap_or((from, to));
    *range = Some((first.min(from), last.max(to)));
}

#[cfg(test)]
mod tests {
    use trace_format::layout::InstantScope;
    use trace_format::{Argument, Backtrace, Event, Log, Thread, Value};

    use super::*;
    use crate::testing::{archive, event};

    #[test]
    fn from_the_first_begin_to_the_last_end() {
        let records = [
            event(EventKind::DurationComplete { end: 9_000 }, &[]),
            event(EventKind::DurationBegin, &[]),
        ];
        let extent = read(Reader::new(&*archive(&records))).unwrap();
        assert_eq!((extent.start, extent.end), (Some(1500), Some(9000)));
        assert_eq!(read(Reader::new(&*archive(&[]))).unwrap(), Extent::default());
    }

    fn clock_anchor<'a>(ticks: u64, clocks: &'a [Argument<'a>]) -> Record<'a> {
        Record::Event(Event {
            ticks,
            thread: Thread::Inline(crate::testing::THREAD),
            category: "trace".into(),
            name: "clock anchor".into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Global) },
            arguments: clocks.into(),
        })
    }

    /// Nothing may have happened before a snapshot was taken. Viewers show the events only.
    #[test]
    fn the_recording_lasts_until_the_last_clock_anchor() {
        let clocks = ["realtime_ns", "monotonic_ns", "boottime_ns"];
        let clocks = clocks.map(|name| Argument::new(name, Value::Uint64(1)));
        let limits = |anchors: &[u64]| {
            let event = [event(EventKind::DurationComplete { end: 9_000 }, &[])];
            let anchors = anchors.iter().map(|ticks| clock_anchor(*ticks, &clocks));
            let records: Vec<_> = event.into_iter().chain(anchors).collect();
            let extent = read(Reader::new(&*archive(&records))).unwrap();
            (extent.end, extent.recorded_until)
        };
        assert_eq!(limits(&[100, 20_000, 15_000]), (Some(9000), Some(20_000)));
        assert_eq!(limits(&[100, 8_000]), (Some(9000), None));
    }

    #[test]
    fn from_the_first_scheduling_record_without_events() {
        let wakeup = |ticks| -> Record<'_> {
            ThreadWakeup { ticks, cpu: 0, thread: 7, arguments: [][..].into() }.into()
        };
        let limits = |records: &[Record<'_>]| {
            let extent = read(Reader::new(&*archive(records))).unwrap();
            (extent.start, extent.end)
        };
        assert_eq!(limits(&[wakeup(700), wakeup(300)]), (Some(300), Some(700)));
        let event = event(EventKind::DurationComplete { end: 9_000 }, &[]);
        assert_eq!(limits(&[wakeup(300), event]), (Some(1500), Some(9000)));
    }

    #[test]
    fn all_records_are_within_a_range() {
        let wakeup = |ticks| -> Record<'_> {
            ThreadWakeup { ticks, cpu: 0, thread: 7, arguments: [][..].into() }.into()
        };
        let log = |ticks| -> Record<'_> {
            Log { ticks, thread: Thread::Inline(crate::testing::THREAD), message: b"" }.into()
        };
        let sample = |ticks| -> Record<'_> {
            let thread = Thread::Inline(crate::testing::THREAD);
            Backtrace { ticks, thread, frames: (&[][..]).into() }.into()
        };
        let event = event(EventKind::DurationComplete { end: 9_000 }, &[]);
        let clocks = ["realtime_ns", "monotonic_ns", "boottime_ns"];
        let clocks = clocks.map(|name| Argument::new(name, Value::Uint64(1)));
        let range = |records: &[Record<'_>]| read(Reader::new(&*archive(records))).unwrap().records;
        assert_eq!(range(&[]), None);
        assert_eq!(range(&[clock_anchor(100, &clocks)]), None);
        assert_eq!(range(&[log(70)]), Some((70, 70)));
        assert_eq!(range(&[event, wakeup(300), log(9_001)]), Some((300, 9_001)));
        assert_eq!(range(&[sample(20), event, sample(9_002)]), Some((20, 9_002)));
        let anchors = [100, 9_500].map(|ticks| clock_anchor(ticks, &clocks));
        assert_eq!(range(&[&anchors[..], &[event]].concat()), Some((1500, 9_500)));
    }
}
