//! Ends of scopes that found no room: kept until there is, so that a gap in the trace leaves no
//! scope open that is not.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The ends of scopes of one slot that are still to be written, in the order in which they ended.
///
/// Rules: as for the slot. A signal handler that interrupts a trace point keeps nothing here.
#[derive(Debug)]
pub(super) struct Ends {
    kept: AtomicU32,
    ends: [End; 8],
}

/// The end of a scope.
#[derive(Debug)]
struct End {
    header: AtomicU64,
    ticks: AtomicU64,
    /// The end's argument, where the header says that it has one.
    argument: AtomicU64,
}

impl End {
    crate::sync::const_new! {
        fn new() -> Self {
            Self {
                header: AtomicU64::new(0),
                ticks: AtomicU64::new(0),
                argument: AtomicU64::new(0),
            }
        }
    }
}

impl Ends {
    crate::sync::const_new! {
        pub(super) fn new() -> Self {
            Self {
                kept: AtomicU32::new(0),
                ends: [
                    End::new(), End::new(), End::new(), End::new(), End::new(), End::new(), End::new(), End::new(),
                ],
            }
        }
    }

    /// Keeps a duration end: its header, its timestamp, and the argument that it may have. False if
    /// there are too many already.
    pub(super) fn keep(&self, [header, ticks, argument]: [u64; 3]) -> bool {
        let kept = self.kept.load(Ordering::Relaxed);
        let Some(end) = self.ends.get(kept as usize) else { return false };
        end.header.store(header, Ordering::Relaxed);
        end.ticks.store(ticks, Ordering::Relaxed);
        end.argument.store(argument, Ordering::Relaxed);
        self.kept.store(kept + 1, Ordering::Relaxed);
        true
    }

    /// How many are kept.
    pub(super) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed) as usize
    }

    /// Those that are kept: records of so many words as the header says.
    pub(super) fn records(&self) -> impl Iterator<Item = [u64; 3]> + '_ {
        let ends = self.ends.iter().take(self.kept());
        ends.map(|end| {
            [&end.header, &end.ticks, &end.argument].map(|word| word.load(Ordering::Relaxed))
        })
    }

    /// Forgets them, once they are written.
    pub(super) fn clear(&self) {
        self.kept.store(0, Ordering::Relaxed);
    }
}
