//! The times of a path at which a thread waited for a processor, from scheduling records.

use std::collections::HashMap;
use std::io::Read;

use trace_format::{Item, ReadError, Reader, Record};

use super::Segment;
use crate::schedule::Schedule;
use crate::scheduling::wakeup_nanos;
use crate::Damage;

/// The most wake-ups of a thread.
const MAX_WAKEUPS: usize = 1 << 20;

/// The scheduling records that concern a path.
#[derive(Debug, Default)]
pub(super) struct Scheduled {
    schedule: Schedule,
    /// The times of the wake-ups of the path's threads, in nanoseconds.
    wakeups: HashMap<u64, Vec<u64>>,
}

impl Scheduled {
    /// Reads the turns and wake-ups of the threads of a path.
    pub(super) fn read<R: Read>(
        segments: &[Segment],
        reader: Reader<R>,
    ) -> Result<Self, ReadError> {
        let threads = segments.iter().filter_map(|segment| segment.thread);
        let mut wakeups: HashMap<u64, Vec<u64>> =
            threads.map(|koids| (koids.thread, Vec::new())).collect();
        let mut schedule = Schedule::default();
        Damage::of_all(reader, |item| {
            schedule.record(item);
            note_wakeup(&mut wakeups, item);
        })?;
        schedule.finish();
        wakeups.values_mut().for_each(|times| times.sort_unstable());
        Ok(Self { schedule, wakeups })
    }

    /// Splits the segments of a path where a thread waited for a processor.
    pub(super) fn split(&self, segments: Vec<Segment>) -> Vec<Segment> {
        let nexts: Vec<Option<u64>> = segments
            .iter()
            .skip(1)
            .map(|next| next.thread.map(|koids| koids.thread))
            .chain([None])
            .collect();
        let mut split = Vec::with_capacity(segments.len());
        for (segment, next) in segments.into_iter().zip(nexts) {
            match (segment.thread, next) {
                (Some(koids), _) => self.split_run(segment, koids.thread, &mut split),
                (None, Some(thread)) => self.split_wait(segment, thread, &mut split),
                (None, None) => split.push(segment),
            }
        }
        split
    }

    /// Splits a running segment into the turns of its thread and the times between them.
    fn split_run(&self, segment: Segment, thread: u64, split: &mut Vec<Segment>) {
        let Some(turns) = self.schedule.turns(thread, segment.from, segment.to) else {
            return split.push(segment);
        };
        let mut now = segment.from;
        for (from, to) in turns {
            Segment { from: now, to: from, is_ready: true, ..segment.clone() }.add_to(split);
            Segment { from, to, ..segment.clone() }.add_to(split);
            now = to;
        }
        Segment { from: now, is_ready: true, ..segment }.add_to(split);
    }

    /// Splits a wait before a thread runs: after the thread's wake-up it waits for a processor.
    fn split_wait(&self, segment: Segment, thread: u64, split: &mut Vec<Segment>) {
        let times = self.wakeups.get(&thread).map_or(&[][..], Vec::as_slice);
        let last = times.partition_point(|time| *time <= segment.to).checked_sub(1);
        let woken = last.and_then(|place| times.get(place)).copied();
        let start = self.schedule.turn_start(thread, segment.to);
        match woken.zip(start).filter(|(woken, start)| *woken >= segment.from && woken < start) {
            Some((woken, start)) => {
                Segment { to: woken, ..segment.clone() }.add_to(split);
                Segment { from: woken, to: start, is_ready: true, ..segment.clone() }.add_to(split);
                Segment { from: start, ..segment }.add_to(split);
            }
            None => split.push(segment),
        }
    }
}

impl Segment {
    fn add_to(self, segments: &mut Vec<Self>) {
        if self.from < self.to {
            segments.push(self);
        }
    }
}

fn note_wakeup(wakeups: &mut HashMap<u64, Vec<u64>>, item: &Item<'_>) {
    let Record::ThreadWakeup(wakeup) = &item.record else { return };
    if let Some(times) = wakeups.get_mut(&wakeup.thread) {
        if times.len() < MAX_WAKEUPS {
            times.push(wakeup_nanos(item, wakeup));
        }
    }
}
