//! Alerts that were raised and are to be sent: one static for each place in the program, and a few slots for names that are known at
//! run time only.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use trace_protocol::packet::{AlertName, MAX_ALERT_NAME};

use super::site;
use crate::alert_name::{check_alert_name, is_alert_name};
use crate::{provider, RECORDER};

/// How often an alert was raised and is not sent yet.
///
/// Rules: raised by any thread, also in a signal handler; lowered by the service thread, and by a forked child for itself.
#[derive(Debug)]
pub(crate) struct Count(AtomicU64);

impl Count {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts one more, and wakes the service thread if it is not about to look already.
    fn raise(&self) {
        // Released, so that who learns of the alert finds what was recorded before it.
        if self.0.fetch_add(1, Ordering::Release) == 0 {
            provider::wake();
        }
    }

    fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Takes one, if there is any.
    pub(crate) fn take(&self) -> bool {
        let one_less = |count: u64| count.checked_sub(1);
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_less).is_ok()
    }

    /// Gives one back that could not be sent now.
    pub(crate) fn put_back(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Takes all there are.
    pub(crate) fn take_all(&self) -> u64 {
        self.0.swap(0, Ordering::Acquire)
    }
}

/// The static of an alert. All of a program lie side by side in one section.
#[derive(Debug)]
#[repr(C)]
pub struct Alert {
    count: Count,
    name: &'static str,
}

impl Alert {
    /// An alert of this name, which has 1 to 14 bytes and no zero byte.
    pub const fn new(name: &'static str) -> Self {
        check_alert_name(name);
        Self { count: Count::new(), name }
    }

    /// Raises the alert.
    #[cold]
    #[inline(never)]
    pub fn raise(&self) {
        self.count.raise();
    }
}

/// Names that are known at run time only: as many as these at most.
static SLOTS: [Slot; 64] = [const { Slot::new() }; 64];

/// Alerts for whose names there was no slot.
static WITHOUT_SLOT: AtomicU64 = AtomicU64::new(0);

const FREE: u32 = 0;
/// Somebody is storing its name.
const CLAIMED: u32 = 1;
const NAMED: u32 = 2;

/// A name and how often it was raised.
#[derive(Debug)]
struct Slot {
    /// Rules: goes from [`FREE`] over [`CLAIMED`] to [`NAMED`], and stays there. The name is stored in between, and read after.
    state: AtomicU32,
    /// The name's bytes, with zeros behind.
    name: [AtomicU64; 2],
    count: Count,
}

impl Slot {
    const fn new() -> Self {
        Self { state: AtomicU32::new(FREE), name: [const { AtomicU64::new(0) }; 2], count: Count::new() }
    }

    /// Whether the slot has this name, or takes it.
    fn is_for(&self, name: [u64; 2]) -> bool {
        match self.state.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                self.name.iter().zip(name).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
                self.state.store(NAMED, Ordering::Release);
                true
            }
            Err(NAMED) => self.words() == name,
            // Claimed by a thread that this may be the signal handler of: another slot does as well.
            Err(_) => false,
        }
    }

    fn words(&self) -> [u64; 2] {
        [0, 1].map(|index: usize| self.name[index].load(Ordering::Relaxed))
    }

    fn name(&self) -> Option<AlertName> {
        if self.state.load(Ordering::Acquire) != NAMED {
            return None;
        }
        let bytes: Vec<u8> = self.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        let text = bytes.split(|byte| *byte == 0).next().and_then(|name| std::str::from_utf8(name).ok());
        text.and_then(AlertName::new)
    }
}

/// Raises an alert whose name is known at run time only, while anything is recorded. [`trace_alert!`](crate::trace_alert) is for the
/// others.
///
/// Returns whether it is going to be sent: not while nothing is recorded, not with a name that does not have 1 to 14 bytes without a zero
/// byte, and not with more than 64 different names in one process, which the trace then tells.
///
/// Works in signal handlers, takes no lock and allocates nothing. Costs one system call while recorded, and one load while not.
pub fn raise_alert(name: &str) -> bool {
    if !RECORDER.is_recording() || !is_alert_name(name) {
        return false;
    }
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(name.bytes().take(MAX_ALERT_NAME)).for_each(|(to, from)| *to = from);
    let number = u128::from_le_bytes(bytes);
    let words = [number as u64, (number >> 64) as u64];
    let found = SLOTS.iter().find(|slot| slot.is_for(words));
    match found {
        Some(slot) => slot.count.raise(),
        None => drop(WITHOUT_SLOT.fetch_add(1, Ordering::Relaxed)),
    }
    found.is_some()
}

/// Takes the number of alerts for whose names there was no slot.
pub(crate) fn take_without_slot() -> u64 {
    WITHOUT_SLOT.swap(0, Ordering::Relaxed)
}

/// The alerts that are raised. Service thread only.
pub(crate) fn raised() -> impl Iterator<Item = (AlertName, &'static Count)> {
    let statics = site::alerts().iter().filter(|alert| alert.count.is_raised());
    let slots = SLOTS.iter().filter(|slot| slot.count.is_raised());
    statics
        .filter_map(|alert| Some((AlertName::new(alert.name)?, &alert.count)))
        .chain(slots.filter_map(|slot| Some((slot.name()?, &slot.count))))
}

/// Forgets what was raised. Only stores: also for a forked child, whose parent's alerts are not its own.
pub(crate) fn forget() {
    let statics = site::alerts().iter().map(|alert| &alert.count);
    statics.chain(SLOTS.iter().map(|slot| &slot.count)).for_each(Count::clear);
    take_without_slot();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_keeps_the_name_that_it_took_first() {
        let slot = Slot::new();
        assert_eq!(slot.name(), None);
        let words = |text: &str| {
            let mut bytes = [0; 16];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            let number = u128::from_le_bytes(bytes);
            [number as u64, (number >> 64) as u64]
        };
        assert!(slot.is_for(words("fourteen bytes")));
        assert!(!slot.is_for(words("fourteen")));
        assert!(slot.is_for(words("fourteen bytes")));
        assert_eq!(slot.name().unwrap().as_str(), "fourteen bytes");
    }

    #[test]
    fn a_slot_under_way_is_passed_over() {
        let slot = Slot::new();
        slot.state.store(CLAIMED, Ordering::Relaxed);
        assert!(!slot.is_for([1, 0]) && slot.name().is_none());
    }

    #[test]
    fn each_raise_is_taken_once() {
        let count = Count::new();
        (0..3).for_each(|_| count.raise());
        assert!(count.is_raised() && count.take());
        count.put_back();
        assert_eq!(count.take_all(), 3);
        assert!(!count.take() && !count.is_raised());
    }
}
