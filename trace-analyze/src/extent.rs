//! The time span of an archive, and its processes and threads.

use std::collections::BTreeSet;
use std::io::Read;

use trace_format::layout::ObjectType;
use trace_format::{
    ContextSwitch, EventKind, LegacyContextSwitch, ReadError, Reader, Record, ThreadWakeup,
};

pub use crate::own::is_own;
use crate::Damage;

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
    let (mut start, mut end) = (None::<u64>, None::<u64>);
    let (mut first, mut last) = (None::<u64>, None::<u64>);
    let (mut processes, mut threads) = (BTreeSet::new(), BTreeSet::new());
    Damage::of_all(reader, |item| match &item.record {
        Record::Event(event) => {
            if is_own(item, event) {
                return;
            }
            let nanos = item.nanos(event.ticks);
            let last = match event.kind {
                EventKind::DurationComplete { end } => item.nanos(end).max(nanos),
                _ => nanos,
            };
            start = Some(start.map_or(nanos, |start| start.min(nanos)));
            end = end.max(Some(last));
        }
        Record::ContextSwitch(ContextSwitch { ticks, .. })
        | Record::LegacyContextSwitch(LegacyContextSwitch { ticks, .. })
        | Record::ThreadWakeup(ThreadWakeup { ticks, .. }) => {
            let nanos = item.nanos(*ticks);
            first = Some(first.map_or(nanos, |first| first.min(nanos)));
            last = last.max(Some(nanos));
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
        _ => {}
    })?;
    let (processes, threads) = (processes.into_iter().collect(), threads.into_iter().collect());
    let (start, end) = (start.or(first), end.or(last));
    Ok(Extent { start, end, processes, threads })
}

#[cfg(test)]
mod tests {
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
}
