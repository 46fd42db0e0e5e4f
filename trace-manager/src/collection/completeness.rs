//! The time before which all records of a provider are passed on.
//!
//! A provider publishes the number of a rolling buffer before it writes to it. So all records
//! before the time at which the manager reads the number are in the rolling buffers up to it. If
//! the newest one has no records, it need not be collected: a provider does not hand it over.

/// The progress of the collection of one provider, in its ticks.
#[derive(Debug, Default)]
pub(super) struct Completeness {
    /// A time, and the rolling buffer that was written then. It is not passed on.
    mark: Option<(u64, u32)>,
    until: u64,
}

impl Completeness {
    /// Returns the time before which all records are passed on. Rolling buffers before `next` are
    /// passed on. `current` is written at the time `now`, and has records if `has_records`.
    pub(super) fn update(&mut self, now: u64, next: u32, current: u32, has_records: bool) -> u64 {
        if current < next || (current == next && !has_records) {
            (self.mark, self.until) = (None, now);
            return now;
        }
        match self.mark {
            Some((_, marked)) if marked >= next => {}
            Some((at, _)) => (self.mark, self.until) = (Some((now, current)), at),
            None => self.mark = Some((now, current)),
        }
        self.until
    }
}
