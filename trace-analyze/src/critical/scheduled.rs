//! The reasons of waits that scheduling records show.

use std::io::Read;

use trace_format::{ReadError, Reader, ThreadKoids};

use super::{Segment, Wait};
use crate::schedule::history::{History, Period, PeriodState};

/// The scheduling records that concern a path.
pub(super) struct Scheduled {
    pub(super) history: History,
}

impl Scheduled {
    /// Reads the states of the threads of a path.
    pub(super) fn read<R: Read>(
        segments: &[Segment],
        reader: Reader<R>,
    ) -> Result<Self, ReadError> {
        let threads = segments.iter().filter_map(|segment| segment.thread);
        let from = segments.first().map_or(0, |segment| segment.from);
        let to = segments.last().map_or(0, |segment| segment.to);
        let history = History::read(threads.map(|koids| koids.thread), (from, to), reader)?;
        Ok(Self { history })
    }

    /// Splits the segments of a path where a thread did not run.
    pub(super) fn split(&self, segments: Vec<Segment>) -> Vec<Segment> {
        let nexts: Vec<Option<ThreadKoids>> =
            segments.iter().skip(1).map(|next| next.thread).chain([None]).collect();
        let mut split = Vec::with_capacity(segments.len());
        for (segment, next) in segments.into_iter().zip(nexts) {
            match (segment.thread, next) {
                (Some(thread), _) => self.split_run(&segment, thread.thread, &mut split),
                (None, Some(thread)) => self.split_wait(segment, thread, &mut split),
                (None, None) => split.push(segment),
            }
        }
        split
    }

    /// Splits a running segment by the states of its thread. The thread is taken to run where its
    /// state is unknown.
    fn split_run(&self, segment: &Segment, thread: u64, split: &mut Vec<Segment>) {
        let mut now = segment.from;
        for period in self.history.during(thread, segment.from, segment.to) {
            let Some(wait) = Wait::of(&self.history, period) else { continue };
            let (from, to) = (period.from.max(now), period.to.min(segment.to));
            Segment { from: now, to: from, ..segment.clone() }.add_to(split);
            Segment { from, to, wait: Some(wait), ..segment.clone() }.add_to(split);
            now = to;
        }
        Segment { from: now, ..segment.clone() }.add_to(split);
    }

    /// Splits a wait before a thread runs: it may be blocked until the operation can continue, and
    /// waits for a processor after that.
    fn split_wait(&self, segment: Segment, thread: ThreadKoids, split: &mut Vec<Segment>) {
        let states: Vec<&Period> =
            self.history.during(thread.thread, segment.from, segment.to).collect();
        let is_wakeup = |pair: &&[&Period]| {
            matches!(pair, [blocked, woken] if matches!(blocked.state, PeriodState::Blocked(_))
                && matches!(woken.state, PeriodState::Woken(_)))
        };
        let (blocked, woken) = match states.windows(2).rfind(is_wakeup) {
            Some([blocked, woken]) if woken.to <= segment.to => (blocked, woken),
            _ => return self.split_unwoken(segment, thread.thread, &states, split),
        };
        let before = match (&segment.wait, &blocked.state) {
            (Some(Wait::Unknown), PeriodState::Blocked(woken_by)) => {
                Some(Wait::Wakeup { thread, woken_by: self.history.waker(*woken_by) })
            }
            (known, _) => known.clone(),
        };
        let (from, to) = (woken.from, woken.to);
        Segment { to: from, wait: before, ..segment.clone() }.add_to(split);
        Segment { from, to, wait: Wait::of(&self.history, woken), ..segment.clone() }.add_to(split);
        let after = Segment { from: to, ..segment };
        match after.wait {
            Some(Wait::Unknown) => self.split_turn(&after, thread.thread, split),
            _ => after.add_to(split),
        }
    }

    /// Splits an unknown wait without a wake-up. The thread that runs next could run since it was
    /// last blocked.
    fn split_unwoken(
        &self,
        segment: Segment,
        thread: u64,
        states: &[&Period],
        split: &mut Vec<Segment>,
    ) {
        if segment.wait != Some(Wait::Unknown) {
            return split.push(segment);
        }
        let is_blocked = |period: &&&Period| matches!(period.state, PeriodState::Blocked(_));
        let blocked = states.iter().rfind(is_blocked);
        let from = blocked.map_or(segment.from, |blocked| blocked.to.min(segment.to));
        Segment { to: from, ..segment.clone() }.add_to(split);
        self.split_turn(&Segment { from, ..segment }, thread, split);
    }

    /// Splits an unknown wait after the thread that runs next got a processor. The thread can have
    /// been woken up for other code, so that the operation may still not be able to continue.
    fn split_turn(&self, segment: &Segment, thread: u64, split: &mut Vec<Segment>) {
        let mut now = segment.from;
        for period in self.history.during(thread, segment.from, segment.to) {
            let wait = match Wait::of(&self.history, period) {
                None => Wait::OtherCode,
                Some(Wait::Blocked { .. }) => continue,
                Some(wait) => wait,
            };
            let (from, to) = (period.from.max(now), period.to.min(segment.to));
            Segment { from: now, to: from, ..segment.clone() }.add_to(split);
            Segment { from, to, wait: Some(wait), ..segment.clone() }.add_to(split);
            now = to;
        }
        Segment { from: now, ..segment.clone() }.add_to(split);
    }
}

impl Segment {
    fn add_to(self, segments: &mut Vec<Self>) {
        if self.from < self.to {
            segments.push(self);
        }
    }
}
