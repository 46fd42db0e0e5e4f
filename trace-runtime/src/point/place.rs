//! Which thread and which moment an event belongs to: this thread and now, unless it says
//! otherwise.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::{event, ThreadRef};
use trace_protocol::clock::ticks;

use crate::timestamp::Timestamp;
use crate::track::Track;

/// The thread and the time of an event.
pub trait Place: Copy {
    /// Words behind the timestamp.
    const WORDS: usize;

    /// The header of an event here, made from one of this thread.
    fn header(self, header: u64) -> u64;

    /// The timestamp. Asked for last, with the record otherwise complete.
    fn ticks(self) -> u64;

    /// Stores the words behind the timestamp.
    fn encode(self, words: &[AtomicU64]);
}

/// This thread, now.
#[derive(Clone, Copy, Debug)]
pub struct Here;

/// This thread, at a time that is known.
#[derive(Clone, Copy, Debug)]
pub struct At(pub Timestamp);

/// A track, now or at a time that is known.
#[derive(Clone, Copy, Debug)]
pub struct On<W>(pub Track, pub W);

impl Place for Here {
    const WORDS: usize = 0;

    #[inline(always)]
    fn header(self, header: u64) -> u64 {
        header
    }

    #[inline(always)]
    fn ticks(self) -> u64 {
        ticks()
    }

    #[inline(always)]
    fn encode(self, _: &[AtomicU64]) {}
}

impl Place for At {
    const WORDS: usize = 0;

    #[inline(always)]
    fn header(self, header: u64) -> u64 {
        header
    }

    #[inline(always)]
    fn ticks(self) -> u64 {
        self.0.ticks()
    }

    #[inline(always)]
    fn encode(self, _: &[AtomicU64]) {}
}

impl<W: Place> Place for On<W> {
    const WORDS: usize = 2;

    #[inline(always)]
    fn header(self, header: u64) -> u64 {
        event::ThreadRef::set(header, u64::from(ThreadRef::INLINE.bits()))
    }

    #[inline(always)]
    fn ticks(self) -> u64 {
        self.1.ticks()
    }

    #[inline(always)]
    fn encode(self, words: &[AtomicU64]) {
        for (word, koid) in words.iter().zip([self.0.process(), self.0.koid()]) {
            word.store(koid, Ordering::Relaxed);
        }
    }
}
