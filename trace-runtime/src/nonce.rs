//! Ids that are unique on the machine.
//!
//! Each process counts from its own random start, one of 2⁶² numbers. If two processes create n ids
//! each, the probability that they share one is n / 2⁶¹: for a million ids each, one in two million
//! million. A process id as the start would not be unique: the kernel reuses them, and each PID
//! namespace has its own.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_protocol::clock;

use crate::sys;

/// The lowest start. A lower number is the count of a process that has not drawn its start yet.
const LEAST_START: u64 = 1 << 62;

/// The nonce counter of this process. It is on pages that the kernel wipes in forked children, so
/// that each child draws its own start.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Nonces {
    /// The last nonce, or, before there is a start, the number of nonces so far.
    last: AtomicU64,
    /// The start, or 0 before it is drawn. Rules: stored once in a process, by compare and
    /// exchange.
    start: AtomicU64,
}

impl Nonces {
    pub(crate) const fn new() -> Self {
        Self { last: AtomicU64::new(0), start: AtomicU64::new(0) }
    }

    /// A number that is unique on this machine as far as chance goes, and not 0. `prepare` is
    /// called before the start is drawn.
    #[inline]
    pub(crate) fn next(&self, prepare: fn()) -> u64 {
        let nonce = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        if nonce >= LEAST_START {
            nonce
        } else {
            self.next_from_start(nonce, prepare)
        }
    }

    #[cold]
    fn next_from_start(&self, count: u64, prepare: fn()) -> u64 {
        let start = self.start(prepare);
        let from_start = |last: u64| (last < LEAST_START).then(|| last + start);
        let _by_another = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, from_start);
        start + count
    }

    /// The start, which is drawn if it is not yet.
    pub(crate) fn start(&self, prepare: fn()) -> u64 {
        let known = self.start.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        prepare();
        let drawn = draw() >> 2 | LEAST_START;
        match self.start.compare_exchange(0, drawn, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => drawn,
            Err(other) => other,
        }
    }

    /// Resets the counter in a forked child, in case the kernel cannot wipe pages on fork.
    pub(crate) fn forget(&self) {
        self.start.store(0, Ordering::Relaxed);
        self.last.store(0, Ordering::Relaxed);
    }
}

/// Returns a random number. Mixes in the process id, an address and the time, in case the kernel
/// has no random numbers yet.
fn draw() -> u64 {
    let random = sys::random_number();
    let place = u64::from(std::process::id()) << 32 ^ (&raw const random).addr() as u64;
    random ^ mixed(mixed(place) ^ clock::ticks()) ^ mixed(clock::kernel_nanoseconds())
}

/// The last step of SplitMix64: each bit depends on all bits.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn nonces_are_unique_and_not_zero() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    (0..1000).map(|_| crate::recorder::nonce()).collect::<Vec<_>>()
                })
            })
            .collect();
        let nonces: HashSet<u64> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(nonces.len(), 4000);
        assert!(!nonces.contains(&0));
    }

    /// Like successive processes with the same id: their starts must be unrelated.
    #[test]
    fn starts_differ() {
        let starts: HashSet<u64> = (0..1000).map(|_| Nonces::new().next(|| {})).collect();
        assert_eq!(starts.len(), 1000);
        let upper: HashSet<u64> = starts.iter().map(|start| start >> 42).collect();
        assert!(upper.len() > 990, "{}", upper.len());
        assert!(starts.iter().all(|start| *start > LEAST_START));
    }

    #[test]
    fn numbers_follow_their_start() {
        let nonces = Nonces::new();
        let first = nonces.next(|| {});
        assert_eq!([nonces.next(|| {}), nonces.next(|| {})], [first + 1, first + 2]);
        nonces.forget();
        assert!(nonces.next(|| {}).abs_diff(first) > 1000);
    }
}
