//! Raised alerts that are not sent yet: counts in statics of their owners, and a fixed number of
//! slots for names of run time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trace_protocol::packet::{AlertName, MAX_ALERT_NAME};

use crate::engine::wake::WakeWord;

/// The number of raises of an alert that are not sent yet.
///
/// Rules: raised by any thread, also in a signal handler; lowered by the service thread, and by a
/// forked child for itself.
#[derive(Debug, Default)]
pub struct AlertCount(AtomicU64);

impl AlertCount {
    /// Returns a count of zero.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Increments the count. Returns whether it was zero: the caller then wakes the service thread.
    pub fn raise(&self) -> bool {
        // Release: records written before the alert are visible to the thread that sends it.
        self.0.fetch_add(1, Ordering::Release) == 0
    }

    /// Returns whether the count is not zero.
    pub fn is_raised(&self) -> bool {
        // Acquire: the name was stored before the count.
        self.0.load(Ordering::Acquire) != 0
    }

    /// Decrements the count if it is not zero. Returns whether it did.
    pub(crate) fn take(&self) -> bool {
        let one_less = |count: u64| count.checked_sub(1);
        self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_less).is_ok()
    }

    /// Increments the count for an alert that could not be sent.
    pub(crate) fn put_back(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Resets the count. Does nothing but a store.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Returns the count, and resets it.
    pub(crate) fn take_all(&self) -> u64 {
        self.0.swap(0, Ordering::Acquire)
    }
}

/// The alerts of a provider with names of run time.
#[derive(Debug)]
pub(crate) struct NamedAlerts {
    slots: [Slot; 64],
    /// Whether a manager receives alerts. Rules: stored by the service thread, and in a forked
    /// child.
    is_listening: AtomicBool,
    /// The number of alerts that were dropped because no slot was free.
    without_slot: AtomicU64,
}

/// The second word of a slot without a name. No name has this value, because the last two bytes of
/// a name's second word are zero.
const UNSET: u64 = u64::MAX;

/// A name and its count.
#[derive(Debug)]
struct Slot {
    /// The name's bytes, padded with zeros. In a slot without a name, the first word is 0 and the
    /// second is [`UNSET`].
    ///
    /// Rules: each word is stored once for a provider, by compare and exchange, the first word
    /// first. A thread that finds the first word of its name stores the second, also for another
    /// thread. So no thread skips a slot that is about to get its name, and no thread waits.
    name: [AtomicU64; 2],
    count: AlertCount,
}

impl Slot {
    const fn new() -> Self {
        Self { name: [AtomicU64::new(0), AtomicU64::new(UNSET)], count: AlertCount::new() }
    }

    /// Returns whether the slot has this name. A free slot gets it.
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

    /// Raises an alert. Returns whether it will be sent.
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

    /// Forgets the names and clears the counts. The caller is the only user of the engine.
    pub(crate) fn reset(&self) {
        self.forget();
        for slot in &self.slots {
            slot.name[0].store(0, Ordering::Relaxed);
            slot.name[1].store(UNSET, Ordering::Relaxed);
        }
    }

    /// Sets whether a manager receives alerts.
    pub(crate) fn listen(&self, listening: bool) {
        self.is_listening.store(listening, Ordering::Relaxed);
    }

    /// Returns the number of alerts that were dropped because no slot was free, and resets it.
    pub(crate) fn take_without_slot(&self) -> u64 {
        self.without_slot.swap(0, Ordering::Relaxed)
    }

    /// Returns the raised alerts. Service thread only.
    pub(crate) fn raised(&'static self) -> impl Iterator<Item = (AlertName, &'static AlertCount)> {
        let slots = self.slots.iter().filter(|slot| slot.count.is_raised());
        slots.filter_map(|slot| Some((slot.name()?, &slot.count)))
    }

    /// Clears all raised alerts. Does nothing but stores, so that a forked child can drop its
    /// parent's alerts.
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
    fn a_slot_keeps_its_first_name() {
        let slot = Slot::new();
        assert_eq!(slot.name(), None);
        assert!(slot.is_for(words("fourteen bytes")));
        assert!(!slot.is_for(words("fourteen")));
        assert!(slot.is_for(words("fourteen bytes")));
        assert_eq!(slot.name().unwrap().as_str(), "fourteen bytes");
    }

    /// Another thread has stored only the first word of the name.
    #[test]
    fn a_slot_with_half_a_name_belongs_to_the_thread_that_completes_it() {
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
    fn a_later_provider_has_all_slots() {
        let (alerts, wake) = (NamedAlerts::new(), WakeWord::new());
        alerts.listen(true);
        for provider in ["first", "second"] {
            alerts.reset();
            for number in 0..64 {
                assert!(alerts.raise(&format!("{provider} {number}"), &wake), "{provider}");
            }
            assert!(!alerts.raise("another", &wake));
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
