//! Reading a buffer while its provider goes on writing it.
//!
//! ```text
//!              directory of the      copy the        wrapped count      copy the       wrapped count
//!  reader      newer one: list       older one       still that?        newer one      one more at most?
//!  ---------|--------------------|---------------|------------------|---------------|-------------------->
//! ```
//!
//! The newer rolling buffer is being written, which does no harm: what is committed in it stays.
//! The older one is overwritten as soon as the newer is full, also while it is copied. The provider
//! says so in the header before it does it, so that a copy counts if the header did not say so
//! after it was made; else it is made again.
//!
//! Of each thread there are its records up to some moment, without a gap. If anything of a thread
//! is listed in the newer rolling buffer, all that it wrote to the older one was there before that
//! one is copied. Strings come last: what a record refers to was registered before it.

use crate::buffer::header::{field, BufferingMode};

use super::chunks::{live_chunks, live_wraps, RawSave};
use super::collector::Collector;

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
    dropped: u64,
}

impl LiveCopy {
    /// Records that the provider says it dropped until then.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl Collector {
    /// Copies what the buffer holds and was not read yet, while its provider may be writing to it.
    /// The collector goes on as if nothing had been copied.
    ///
    /// In circular mode the older rolling buffer is left out if it is overwritten faster than it
    /// can be copied.
    pub fn copy_live(&self) -> LiveCopy {
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
        LiveCopy { durable, saves: rolling.saves, overwritten, dropped: self.dropped() }
    }

    /// Appends the well-formed records of a copy that a clone of this collector made, at the same
    /// point: all that is left.
    pub fn finish_copy(&mut self, mut copy: LiveCopy, out: &mut Vec<u64>) {
        self.durable_read += copy.durable.len();
        self.filter.filter(&mut copy.durable, out);
        self.filter.stats.overwritten = copy.overwritten;
        self.sanitize_last(copy.saves, out);
    }

    fn try_copy_rolling(&self) -> Attempt {
        let (mapping, layout) = (&self.mapping, &self.layout);
        let wraps = live_wraps(mapping, layout);
        let unsaved: Vec<u32> =
            wraps.into_iter().filter(|wrap| Some(*wrap) > self.last_saved).collect();
        let Some((&newer, older)) = unsaved.split_last() else {
            return Attempt { complete: true, ..Attempt::default() };
        };
        let listed: Vec<_> = live_chunks(mapping, layout, newer).collect();
        let mut attempt = Attempt { saves: Vec::new(), first: newer, complete: true };
        for &older in older {
            let save =
                RawSave::copy_backwards(&live_chunks(mapping, layout, older).collect::<Vec<_>>());
            attempt.add(older, save, self.is_overwritten(older));
        }
        let save = RawSave::copy_backwards(&listed);
        attempt.add(newer, save, self.is_overwritten(newer));
        attempt
    }

    /// Whether the rolling buffer that held `wrapped_count` may hold something else by now.
    fn is_overwritten(&self, wrapped_count: u32) -> bool {
        let newest = (self.word(field::VERSION_MODE_WRAPPED) >> 32) as u32;
        newest.saturating_sub(wrapped_count) as usize >= self.layout.mode().rolling_buffers()
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
    fn add(&mut self, wrapped_count: u32, save: RawSave, overwritten: bool) {
        self.complete &= !overwritten;
        if !overwritten {
            self.first = self.first.min(wrapped_count);
            self.saves.push(save);
        }
    }
}
