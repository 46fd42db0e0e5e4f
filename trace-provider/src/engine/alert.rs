//! Alerts that were raised and are to be sent: counts that their owners keep, and a few slots for
//! names that are known at run time only.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trace_protocol::packet::{AlertName, MAX_ALERT_NAME};

use crate::engine::wake::WakeWord;

/// How often an alert was raised and is not sent yet.
///
/// Rules: raised by any thread, also in a signal handler; lowered by the service thread, and by a
/// forked child for itself.
#[derive(Debug, Default)]
pub struct AlertCount(AtomicU64);

impl AlertCount {
    /// No alert.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts one more. Returns whether the service thread has to be woken: it is not about to look
    /// already.
    pub fn raise(&self) -> bool {
        // Released, so that who learns of the alert finds what was recorded before it.
        self.0.fetch_add(1, Ordering::Release) == 0
    }

    /// Whether there is any.
    pub fn is_raised(&self) -> bool {
        // Acquired: the name was stored before.
        self.0.load(Ordering::Acquire) != 0
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

    /// Forgets them. Only stores.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Takes all there are.
    pub(crate) fn take_all(&self) -> u64 {
        self.0.swap(0, Ordering::Acquire)
    }
}

/// The alerts of a provider whose names are known at run time only.
#[derive(Debug)]
pub(crate) struct NamedAlerts {
    slots: [Slot; 64],
    /// Whether a manager listens. Rules: stored by the service thread, and in a forked child.
    is_listening: AtomicBool,
    /// Alerts for whose names there was no slot.
    without_slot: AtomicU64,
}

/// The second word of a slot that is yet to have one. No name has it: the last two of its bytes are
/// zeros.
const UNSET: u64 = u64::MAX;

/// A name and how often it was raised.
#[derive(Debug)]
struct Slot {
    /// The name's bytes, with zeros behind; the first word is 0 and the second one [`UNSET`] in a
    /// slot without a name.
    ///
    /// Rules: each is stored once, by compare and exchange, the first word first. Who finds the
    /// first word of its name stores the second one, also for another thread: so nobody passes a
    /// slot over that is about to have its name, and nobody waits.
    name: [AtomicU64; 2],
    count: AlertCount,
}

impl Slot {
    const fn new() -> Self {
        Self { name: [AtomicU64::new(0), AtomicU64::new(UNSET)], count: AlertCount::new() }
    }

    /// Whether the slot has this name, or takes it.
    fn is_for(&self, name: [u64; 2]) -> bool {
        let [first, second] = &self.name;
        is_or_becomes(first, 0, name[0]) && is_or_becomes(second, UNSET, name[1])
    }

    fn name(&self) -> Option<AlertName> {
        let words = [0, 1].map(|index: usize| self.name[index].load(Ordering::Relaxed));
        if words[0] == 0 || words[1] == UNSET {
            return None;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let text =
            bytes.split(|byte| *byte == 0).next().and_then(|name| std::str::from_utf8(name).ok());
        text.and_then(AlertName::new)
    }
}

fn is_or_becomes(word: &AtomicU64, unset: u64, value: u64) -> bool {
    let found = word.compare_exchange(unset, value, Ordering::Relaxed, Ordering::Relaxed);
    found.is_ok() || found == Err(value)
}

impl NamedAlerts {
    pub(crate) const fn new() -> Self {
        Self {
            slots: [const { Slot::new() }; 64],
            is_listening: AtomicBool::new(false),
            without_slot: AtomicU64::new(0),
        }
    }

    /// Raises an alert. Returns whether it is going to be sent.
    pub(crate) fn raise(&self, name: &str, wake: &WakeWord) -> bool {
        if !self.is_listening.load(Ordering::Relaxed) || AlertName::new(name).is_none() {
            return false;
        }
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(name.bytes().take(MAX_ALERT_NAME)).for_each(|(to, from)| *to = from);
        let number = u128::from_le_bytes(bytes);
        let words = [number as u64, (number >> 64) as u64];
        let found = self.slots.iter().find(|slot| slot.is_for(words));
        match found {
            Some(slot) if slot.count.raise() => wake.notify(),
            Some(_) => {}
            None => drop(self.without_slot.fetch_add(1, Ordering::Relaxed)),
        }
        found.is_some()
    }

    /// Says whether a manager listens from now on.
    pub(crate) fn listen(&self, listening: bool) {
        self.is_listening.store(listening, Ordering::Relaxed);
    }

    /// Takes the number of alerts for whose names there was no slot.
    pub(crate) fn take_without_slot(&self) -> u64 {
        self.without_slot.swap(0, Ordering::Relaxed)
    }

    /// The alerts that are raised. Service thread only.
    pub(crate) fn raised(&'static self) -> impl Iterator<Item = (AlertName, &'static AlertCount)> {
        let slots = self.slots.iter().filter(|slot| slot.count.is_raised());
        slots.filter_map(|slot| Some((slot.name()?, &slot.count)))
    }

    /// Forgets what was raised. Only stores: also for a forked child, whose parent's alerts are not
    /// its own.
    pub(crate) fn forget(&self) {
        self.slots.iter().for_each(|slot| slot.count.clear());
        self.take_without_slot();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> [u64; 2] {
        let mut bytes = [0; 16];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let number = u128::from_le_bytes(bytes);
        [number as u64, (number >> 64) as u64]
    }

    #[test]
    fn a_slot_keeps_the_name_that_it_took_first() {
        let slot = Slot::new();
        assert_eq!(slot.name(), None);
        assert!(slot.is_for(words("fourteen bytes")));
        assert!(!slot.is_for(words("fourteen")));
        assert!(slot.is_for(words("fourteen bytes")));
        assert_eq!(slot.name().unwrap().as_str(), "fourteen bytes");
    }

    /// Another thread is about to name the slot.
    #[test]
    fn a_slot_under_way_is_for_who_completes_its_name() {
        for name in ["fourteen bytes", "fourteen"] {
            let slot = Slot::new();
            slot.name[0].store(words("fourteen bytes")[0], Ordering::Relaxed);
            assert_eq!(slot.name(), None);
            assert!(!slot.is_for(words("other")));
            assert!(slot.is_for(words(name)));
            assert_eq!(slot.name().unwrap().as_str(), name);
        }
    }

    #[test]
    fn threads_with_one_name_share_a_slot() {
        for _ in 0..200 {
            let slots = [const { Slot::new() }; 8];
            let names = ["fourteen bytes", "fourteen", "fourteen other", "short"];
            std::thread::scope(|scope| {
                for name in names.iter().chain(&names) {
                    let slots = &slots;
                    scope.spawn(move || assert!(slots.iter().any(|slot| slot.is_for(words(name)))));
                }
            });
            assert_eq!(slots.iter().filter_map(Slot::name).count(), names.len());
        }
    }

    #[test]
    fn each_raise_is_taken_once() {
        let count = AlertCount::new();
        assert_eq!([(); 3].map(|()| count.raise()), [true, false, false]);
        assert!(count.is_raised() && count.take());
        count.put_back();
        assert_eq!(count.take_all(), 3);
        assert!(!count.take() && !count.is_raised());
    }
}
