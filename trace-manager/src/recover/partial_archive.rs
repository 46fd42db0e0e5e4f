//! The partial archive of a killed process.

use std::fs::File;
use std::io::Read;
use std::ops::Range;

use trace_format::layout::ObjectType;
use trace_format::notes::{self, Omission};
use trace_format::record::{Argument, Metadata, Record, Value};
use trace_format::{Event, Item, Reader};
use trace_protocol::archive::{omission, ClockSample, Closing, Identity};
use trace_protocol::buffer::consumer::Collector;
use trace_protocol::buffer::producer::LossStrings;
use trace_protocol::message::ClockSource;

use crate::output::OffsetReader;

/// The usable part of the partial archive.
pub(super) struct PartialArchive {
    pub(super) identity: Identity,
    /// The time of its first event in ticks.
    first: u64,
    /// The clocks when the process opened the archive, and its ticks per second.
    opened: Option<(ClockSample, u64)>,
    /// Losses that its records report.
    reported: u64,
    /// The ranges of its complete records, in bytes.
    pub(super) intact: Vec<Range<u64>>,
}

impl PartialArchive {
    /// Reads the first `length` bytes. Returns `None` if they do not identify the process.
    pub(super) fn read(partial: &File, length: u64) -> Option<Self> {
        let mut reader = Reader::new(OffsetReader::new(partial, 0).take(length));
        let (mut scan, mut intact) = (ArchiveScan::default(), Vec::new());
        loop {
            let start = reader.offset();
            match reader.next() {
                Ok(Some(item)) => scan.add(&item),
                Ok(None) => break,
                Err(error) if error.is_fatal() => break,
                Err(_) => continue,
            }
            push_range(&mut intact, start..reader.offset());
        }
        scan.into_partial_archive(intact)
    }

    /// Appends the losses that no record reports yet. Their time is between the first event and the
    /// last. If no record is missing, a clock anchor follows, as in an archive that its process
    /// completed.
    pub(super) fn close(&self, collector: &Collector, is_whole: bool, words: &mut Vec<u64>) {
        let to = collector.stats().last_ticks.max(self.first);
        let closing = Closing::of(collector, self.reported, self.first, to);
        match self.opened.filter(|_| is_whole) {
            Some((clocks, rate)) => closing.write_now(words, &self.identity, &clocks.at(to, rate)),
            None => closing.write(words, &self.identity),
        }
    }

    /// Returns the number of bytes of its complete records.
    pub(super) fn intact_bytes(&self) -> u64 {
        self.intact.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns the number of its first `length` bytes that are missing or not complete records.
    pub(super) fn damaged(&self, length: u64) -> u64 {
        length - self.intact_bytes()
    }

    /// Appends the report of `damaged` bytes, if there are any.
    pub(super) fn report_damage(&self, damaged: u64, words: &mut Vec<u64>) {
        if damaged != 0 {
            omission(words, &self.identity, self.first, Omission::Bytes, damaged);
        }
    }
}

/// Appends a range, or extends the last one if they are adjacent.
fn push_range(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// The data that the records so far contain.
#[derive(Default)]
struct ArchiveScan {
    process: Option<u64>,
    name: String,
    first: Option<u64>,
    opened: Option<(ClockSample, u64)>,
    reported: u64,
}

impl ArchiveScan {
    fn add(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Metadata(Metadata::ProviderInfo { name, .. }) => {
                self.name = String::from_utf8_lossy(name).into_owned();
            }
            Record::KernelObject(object) if object.object_type == ObjectType::PROCESS => {
                self.process = Some(object.koid);
            }
            Record::Event(event) => {
                self.first = self.first.or(Some(event.ticks));
                self.opened = self.opened.or_else(|| clocks(item, event));
                if item.text(event.name) == LossStrings::NAME
                    && item.text(event.category) == LossStrings::CATEGORY
                {
                    let number = event.arguments.iter().find_map(number);
                    self.reported = self.reported.saturating_add(number.unwrap_or(0));
                }
            }
            _ => {}
        }
    }

    fn into_partial_archive(self, intact: Vec<Range<u64>>) -> Option<PartialArchive> {
        let identity = Identity {
            id: 1,
            process_name: self.name.clone(),
            name: self.name,
            pid: self.process.and_then(|koid| u32::try_from(koid).ok())?,
            uid: 0,
            clock: ClockSource::CpuCounter,
        };
        let Self { opened, reported, .. } = self;
        Some(PartialArchive { identity, first: self.first?, opened, reported, intact })
    }
}

/// Returns the clocks of a clock anchor, and the ticks per second of its provider.
fn clocks(item: &Item<'_>, event: &Event<'_>) -> Option<(ClockSample, u64)> {
    let is_anchor = item.text(event.category) == notes::CATEGORY
        && item.text(event.name) == notes::CLOCK_ANCHOR;
    let clock = |name: &str| {
        event.arguments.iter().filter(|argument| item.text(argument.name) == name).find_map(number)
    };
    let [boottime, monotonic, realtime] = ["boottime_ns", "monotonic_ns", "realtime_ns"].map(clock);
    let sample = ClockSample::recorded(event.ticks, boottime?, monotonic?, realtime?);
    is_anchor.then(|| (sample, item.provider.tick_rate().ticks_per_second()))
}

fn number(argument: Argument<'_>) -> Option<u64> {
    match argument.value {
        Value::Uint64(number) => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use trace_protocol::archive;
    use trace_protocol::words::as_bytes;

    use super::*;
    use crate::fixture::identity;

    /// The recovered archive ends with an anchor of the same clocks, moved by the same time.
    #[test]
    fn each_clock_of_the_first_anchor_is_found() {
        let now = ClockSample::recorded(1_000, 20_000, 300_000, 4_000_000);
        let mut words = Vec::new();
        archive::magic(&mut words);
        archive::opening(&mut words, &identity(), 1_000_000, &now);
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(as_bytes(&words), 0).unwrap();
        let found = PartialArchive::read(&file, words.len() as u64 * 8).unwrap();
        assert_eq!(found.first, 1_000);
        let expected = Some((now, 1_000_000_u64));
        assert_eq!(format!("{:?}", found.opened), format!("{expected:?}"));
    }

    #[test]
    fn adjacent_ranges_are_joined() {
        let mut ranges = Vec::new();
        for range in [0..8, 8..24, 32..40, 40..48] {
            push_range(&mut ranges, range);
        }
        assert_eq!(ranges, [0..24, 32..48]);
    }
}
