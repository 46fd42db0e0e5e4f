//! The tracks of this process, which a forked child keeps.

use std::collections::HashMap;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use trace_format::layout::ARTIFICIAL_KOID_BIT;

/// The track that was made last.
///
/// Rules: stored to while the names are locked; nothing is ever taken away, so that a forked child
/// finds the list whole.
static MADE: AtomicPtr<Made> = AtomicPtr::new(null_mut());

/// Tracks that were asked for by their ids, each at the place of its id; null where there is none.
///
/// Rules: stored to while the names are locked; a pointer is to a track, which is never freed.
static RECENT: [AtomicPtr<Made>; 1 << RECENT_BITS] =
    [const { AtomicPtr::new(null_mut()) }; 1 << RECENT_BITS];

const RECENT_BITS: u32 = 8;

/// A track.
#[derive(Debug)]
struct Made {
    /// How many were made before it.
    number: u64,
    /// What the application knows it by, unless it was made without an id.
    id: Option<u64>,
    /// Rules: read and replaced while the names are locked; never null.
    name: AtomicPtr<Box<str>>,
    before: *const Made,
}

impl Made {
    /// Has [`recall`] find it.
    fn remember(&'static self, id: u64) {
        place_of(id).store(ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    fn set_name(&self, name: &str) {
        let old = self.name.swap(Box::into_raw(Box::new(name.into())), Ordering::AcqRel);
        // SAFETY: a pointer in `name` came from `Box::into_raw`. It is read through `Tracks`, of
        // which this has the only reference, so that nobody is reading it; and it was taken out
        // just now, so that it is freed once.
        drop(unsafe { Box::from_raw(old) });
    }
}

/// Bits of a track's number below the bit that distinguishes the low half of its koid from a Linux
/// thread id.
const LOW_BITS: u32 = 30;

/// The koid of the track with this number, which is below 2⁶²: another one for each.
pub(crate) const fn koid_of(number: u64) -> u64 {
    let low = number & ((1 << LOW_BITS) - 1);
    ARTIFICIAL_KOID_BIT | (number >> LOW_BITS << (LOW_BITS + 1)) | 1 << LOW_BITS | low
}

/// The number of the track with this koid; `None` if it is a thread of Linux's.
pub(crate) const fn number_of(koid: u64) -> Option<u64> {
    if koid & ARTIFICIAL_KOID_BIT == 0 {
        return None;
    }
    let low = koid & ((1 << LOW_BITS) - 1);
    Some((koid & !ARTIFICIAL_KOID_BIT) >> (LOW_BITS + 1) << LOW_BITS | low)
}

/// The tracks of this process. Whoever has this has locked the names.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    /// By their ids. Empty in a forked child, until it asks for one.
    by_id: HashMap<u64, &'static Made>,
    by_number: HashMap<u64, &'static Made>,
}

impl Tracks {
    /// Makes a track, and returns its number.
    pub(crate) fn add(&mut self, id: Option<u64>, name: &str) -> u64 {
        self.learn();
        let before = MADE.load(Ordering::Acquire).cast_const();
        let number = self.by_number.len() as u64;
        let name = AtomicPtr::new(Box::into_raw(Box::new(name.into())));
        let made = Box::leak(Box::new(Made { number, id, name, before }));
        MADE.store(made, Ordering::Release);
        self.enter(made);
        if let Some(id) = id {
            made.remember(id);
        }
        number
    }

    /// The number of the track with this id.
    pub(crate) fn find(&mut self, id: u64) -> Option<u64> {
        self.learn();
        let made = self.by_id.get(&id)?;
        made.remember(id);
        Some(made.number)
    }

    /// The name of the track with this number.
    pub(crate) fn name(&self, number: u64) -> Option<&str> {
        let made = self.by_number.get(&number)?;
        // SAFETY: a pointer in `name` came from `Box::into_raw`, and is freed by who has the only
        // reference to `self`.
        Some(unsafe { &**made.name.load(Ordering::Acquire) })
    }

    /// Gives the track with this number another name.
    pub(crate) fn rename(&mut self, number: u64, name: &str) {
        if let Some(made) = self.by_number.get(&number) {
            made.set_name(name);
        }
    }

    /// Each track's number and name, in no order.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = (u64, &str)> {
        self.learn();
        let this = &*self;
        this.by_number.keys().filter_map(|number| Some((*number, this.name(*number)?)))
    }

    /// Has a forked child learn its parent's tracks.
    fn learn(&mut self) {
        if self.by_number.is_empty() {
            made().for_each(|made| self.enter(made));
        }
    }

    fn enter(&mut self, made: &'static Made) {
        self.by_number.insert(made.number, made);
        if let Some(id) = made.id {
            self.by_id.insert(id, made);
        }
    }
}

/// The number of the track with this id, if it is one of those that were asked for lately. Takes
/// no lock.
pub(crate) fn recall(id: u64) -> Option<u64> {
    // SAFETY: a pointer in `RECENT` is null or came from `Box::leak`; the number and the id never
    // change.
    let made = unsafe { place_of(id).load(Ordering::Acquire).as_ref() }?;
    (made.id == Some(id)).then_some(made.number)
}

/// The place of an id, which other ids share.
fn place_of(id: u64) -> &'static AtomicPtr<Made> {
    // The golden ratio, so that ids that differ in few bits get places of their own.
    let spread = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT_BITS);
    &RECENT[spread as usize]
}

/// The tracks, the youngest first.
fn made() -> impl Iterator<Item = &'static Made> {
    let mut next = MADE.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: a pointer in the list is null or came from `Box::leak`.
        let made = unsafe { next.as_ref() }?;
        next = made.before;
        Some(made)
    })
}
