//! The time that threads spent on a processor, and their other states, from scheduling records.
//!
//! [`Schedule`] has the turns of threads on processors. [`threads::read`] has the totals of their
//! states, and [`moment::read`] their states at a time.

pub(crate) mod history;
mod json;
pub mod moment;
mod names;
mod replay;
mod steps;
pub mod threads;

use std::collections::HashMap;
use std::io::Read;

use trace_format::{ReadError, Reader};

use crate::Damage;
use replay::{replay, Activity};
use steps::Steps;

/// The times at which threads were on a processor.
///
/// Times are in nanoseconds. The clock of the provider of scheduling records and the clocks of
/// other providers must have started together, as on one machine.
#[derive(Debug, Default)]
pub struct Schedule {
    threads: HashMap<u64, Vec<OnCpu>>,
    steps: Steps,
    /// The times of the begin and the end of the records.
    recorded: (u64, u64),
}

/// A turn of a thread on a processor.
#[derive(Debug, Clone, Copy)]
struct OnCpu {
    from: u64,
    to: u64,
    /// The sum of earlier turns.
    before: u64,
}

impl OnCpu {
    /// Returns the sum of this turn and the earlier ones.
    fn sum(&self) -> u64 {
        self.before.saturating_add(self.to - self.from)
    }
}

impl Schedule {
    /// Reads the scheduling records of an archive.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(reader: Reader<R>) -> Result<Self, ReadError> {
        let mut schedule = Self::default();
        Damage::of_all(reader, |item| schedule.steps.push(item))?;
        schedule.finish();
        Ok(schedule)
    }

    /// Returns whether there are too many records. [`Schedule::on_cpu`] then returns `None`.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.steps.is_too_long()
    }

    /// Returns whether a thread has turns.
    #[must_use]
    pub fn has(&self, thread: u64) -> bool {
        self.threads.contains_key(&thread)
    }

    /// Returns the nanoseconds between two times that a thread was on a processor, or `None` if it
    /// has no turns, or both times are before the first record.
    #[must_use]
    pub fn on_cpu(&self, thread: u64, from: u64, to: u64) -> Option<u64> {
        let turns = self.threads.get(&thread)?;
        let (start, _) = self.recorded;
        if from < start && to <= start {
            return None;
        }
        Some(until(turns, to).saturating_sub(until(turns, from)))
    }

    /// Returns whether the recording of scheduling lasted from one time to another. If not,
    /// [`Schedule::on_cpu`] is unknown or an estimate: nothing before the first record of a thread,
    /// and its last state after the last one.
    #[must_use]
    pub fn covers(&self, from: u64, to: u64) -> bool {
        let (start, end) = self.recorded;
        start <= from && to <= end
    }

    /// Makes the turns of the records, and adds them up.
    fn finish(&mut self) {
        if self.is_too_long() {
            return;
        }
        self.recorded = (self.steps.start(), self.steps.end());
        let koids = self.steps.threads().to_vec();
        let threads = &mut self.threads;
        replay(&mut self.steps, Some(u64::MAX), |interval| {
            let koid = koids.get(interval.thread as usize);
            if let (Activity::Running { .. }, Some(koid)) = (interval.activity, koid) {
                let turns = threads.entry(*koid).or_default();
                let before = turns.last().map_or(0, OnCpu::sum);
                turns.push(OnCpu { from: interval.from, to: interval.to, before });
            }
        });
        self.steps.clear();
    }
}

/// Returns the nanoseconds of the turns before `time`.
fn until(turns: &[OnCpu], time: u64) -> u64 {
    let place = turns.partition_point(|turn| turn.from < time);
    let turn = place.checked_sub(1).and_then(|place| turns.get(place));
    turn.map_or(0, |turn| turn.before.saturating_add(time.min(turn.to) - turn.from))
}

#[cfg(test)]
mod tests {
    use trace_format::layout::ThreadState;
    use trace_format::{Arguments, ContextSwitch, Record};

    use super::*;
    use crate::testing::archive;

    fn switch(ticks: u64, cpu: u16, outgoing_thread: u64, incoming_thread: u64) -> Record<'static> {
        let outgoing_state = ThreadState(0);
        let arguments = Arguments::NONE;
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
            .into()
    }

    #[test]
    fn turns_are_added_up() {
        let records = [
            switch(100, 0, 7, 8),
            switch(120, 1, 0, 7),
            switch(130, 1, 7, 9),
            switch(150, 0, 8, 7),
            // The switch to 8 is missing.
            switch(160, 1, 8, 0),
            switch(180, 0, 7, 0),
        ];
        let schedule = Schedule::read(Reader::new(&*archive(&records))).unwrap();
        assert_eq!(schedule.on_cpu(7, 100, 200), Some(40));
        assert_eq!(schedule.on_cpu(7, 125, 155), Some(10));
        assert_eq!(schedule.on_cpu(8, 0, 1000), Some(50));
        assert_eq!(schedule.on_cpu(7, 20, 100), None, "before the first record");
        assert_eq!(schedule.on_cpu(7, 100, 100), Some(0));
        assert_eq!(schedule.on_cpu(9, 0, 1000), None);
        assert_eq!(schedule.on_cpu(1, 0, 1000), None);
        assert!(schedule.covers(100, 180) && !schedule.covers(99, 180));
        assert!(!schedule.covers(100, 181));
    }

    #[test]
    fn turns_of_a_thread_do_not_overlap() {
        let records = [
            switch(0, 0, 9, 7),
            switch(500, 0, 7, 9),
            // The switch to 7 is missing.
            switch(1000, 1, 7, 3),
            // Two processors claim the thread at one time: the switch from the first is missing.
            switch(1100, 2, 9, 7),
            switch(1150, 3, 9, 7),
        ];
        let schedule = Schedule::read(Reader::new(&*archive(&records))).unwrap();
        assert_eq!(schedule.on_cpu(7, 0, 500), Some(500));
        assert_eq!(schedule.on_cpu(7, 0, 1000), Some(1000));
        assert_eq!(schedule.on_cpu(7, 1000, 1200), Some(50));
    }
}
