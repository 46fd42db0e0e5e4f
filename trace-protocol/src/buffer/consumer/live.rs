//! Reading a buffer while its provider goes on writing it.
//!
//! ```text
//!              directory of the     copy the older ones,            copy the
//!  reader      newest one: list     each: overwritten meanwhile?    newest one     overwritten?
//!  ---------|-------------------|-------------------------------|---------------|----------------->
//! ```
//!
//! The newest rolling buffer is being written, which does no harm: what is committed in it stays.
//! The oldest one is overwritten as soon as the newest is full, also while it is copied. The
//! provider says so in the header before it does it, so that a copy counts if the header did not
//! say so after it was made; else all is made again.
//!
//! Of each thread there are its records up to some moment, without a gap. If anything of a thread
//! is listed in the newest rolling buffer, all that it wrote to the older ones was there before
//! they are copied. The older ones are copied from the oldest on: no thread gets a chunk in them
//! any more, so that a thread with a record under way in one of them has nothing in those behind
//! it. They are all that were not read before, whether a search of the directories found them or
//! not: the provider may begin one behind the search, and then the newest one. One without a chunk
//! has no records. The loss table comes first: events that are read report no less than it says. Strings come
//! last: what a record refers to was registered before it.

use crate::buffer::header::{field, BufferingMode};

use super::chunks::{live_chunks, live_wraps, RawSave};
use super::collector::Collector;
use super::losses::LossTable;

/// How often a copy is tried of a buffer that is filled faster than it can be copied.
const ATTEMPTS: usize = if cfg!(loom) { 2 } else { 8 };

/// A copy of what a buffer held at some moment and its collector had not read, of which nothing was
/// looked at yet.
#[derive(Debug)]
pub struct LiveCopy {
    durable: Vec<u64>,
    saves: Vec<RawSave>,
    /// Rolling buffers that were overwritten before, in circular mode.
    overwritten: u32,
    losses: LossTable,
}

impl Collector {
    /// Copies what the buffer holds and was not read yet, while its provider may be writing to it.
    /// The collector goes on as if nothing had been copied.
    ///
    /// In circular mode older rolling buffers are left out if they are overwritten faster than they
    /// can be copied.
    pub fn copy_live(&self) -> LiveCopy {
        let losses = LossTable::copy(&self.mapping, &self.layout);
        let mut rolling = self.try_copy_rolling();
        for _ in 1..ATTEMPTS {
            if rolling.complete {
                break;
            }
            rolling = self.try_copy_rolling();
        }
        let overwritten = match self.layout.mode() {
            BufferingMode::Circular => rolling.first,
            _ => 0,
        };
        let durable = self.copy_durable(self.durable_end());
        LiveCopy { durable, saves: rolling.saves, overwritten, losses }
    }

    /// Appends the well-formed records of a copy that a clone of this collector made, at the same
    /// point: all that is left.
    pub fn finish_copy(&mut self, mut copy: LiveCopy, out: &mut Vec<u64>) {
        self.durable_read += copy.durable.len();
        self.filter.filter(&mut copy.durable, out);
        self.filter.stats.overwritten = copy.overwritten;
        self.losses = Some(copy.losses);
        self.sanitize_last(copy.saves, out);
    }

    fn try_copy_rolling(&self) -> Attempt {
        let newest = live_wraps(&self.mapping, &self.layout).pop();
        match newest.filter(|newest| Some(*newest) > self.last_saved) {
            Some(newest) => self.try_copy_until(newest),
            None => Attempt { complete: true, ..Attempt::default() },
        }
    }

    /// Copies the rolling buffers that were not read, up to that of `newest`.
    fn try_copy_until(&self, newest: u32) -> Attempt {
        let (mapping, layout) = (&self.mapping, &self.layout);
        let listed: Vec<_> = live_chunks(mapping, layout, newest).collect();
        let unread = self.last_saved.map_or(0, |last| last.saturating_add(1));
        let first = unread.max(self.overwritten_before(newest));
        let mut attempt = Attempt { saves: Vec::new(), first, complete: true };
        for older in first..newest {
            let save =
                RawSave::copy_backwards(&live_chunks(mapping, layout, older).collect::<Vec<_>>());
            attempt.add(older, save, self.is_overwritten(older));
        }
        let save = RawSave::copy_backwards(&listed);
        attempt.add(newest, save, self.is_overwritten(newest));
        attempt
    }

    /// Whether the rolling buffer that held `wrapped_count` may hold something else by now.
    fn is_overwritten(&self, wrapped_count: u32) -> bool {
        let newest = (self.word(field::VERSION_MODE_WRAPPED) >> 32) as u32;
        newest.saturating_sub(wrapped_count) as usize >= self.layout.rolling_buffers()
    }
}

/// What was copied of the rolling buffers.
#[derive(Debug, Default)]
struct Attempt {
    saves: Vec<RawSave>,
    /// The first wrapped count of which there is a copy.
    first: u32,
    complete: bool,
}

impl Attempt {
    /// Adds a copy, in the order of wrapped counts. If it is overwritten, those before it are left
    /// out, too: what is kept has no gap.
    fn add(&mut self, wrapped_count: u32, save: RawSave, overwritten: bool) {
        if overwritten {
            self.complete = false;
            self.saves.clear();
            self.first = wrapped_count.saturating_add(1);
        } else {
            self.saves.push(save);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_no_gap() {
        let added = |wraps: &[(u32, bool)]| {
            let mut attempt = Attempt { complete: true, first: 3, ..Attempt::default() };
            for &(wrap, overwritten) in wraps {
                attempt.add(wrap, RawSave::copy_backwards(&[]), overwritten);
            }
            (attempt.first, attempt.saves.len(), attempt.complete)
        };
        assert_eq!(added(&[(3, false), (4, false), (5, false)]), (3, 3, true));
        assert_eq!(added(&[(3, true), (4, false), (5, false)]), (4, 2, false));
        assert_eq!(added(&[(3, false), (4, true), (5, false)]), (5, 1, false));
        assert_eq!(added(&[(3, false), (4, true)]).1, 0);
    }
}
