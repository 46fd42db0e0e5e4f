//! The thread or track, and the time, of an event.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::{event, ThreadRef};
use trace_protocol::clock::ticks;

use crate::timestamp::Timestamp;
use crate::track::Track;

/// The thread or track, and the time, of an event.
pub trait Place: Copy {
    /// The number of words after the timestamp.
    const WORDS: usize;

    /// Returns the header of an event here, derived from that of an event on this thread.
    fn header(self, header: u64) -> u64;

    /// Returns the timestamp. Called last, when the record is otherwise complete.
    fn ticks(self) -> u64;

    /// Stores the words after the timestamp.
    fn encode(self, words: &[AtomicU64]);
}

/// This thread, at the current time.
#[derive(Clone, Copy, Debug)]
pub struct Here;

/// This thread, at a given time.
#[derive(Clone, Copy, Debug)]
pub struct At(pub Timestamp);

/// A track, at the current time or at a given one.
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
