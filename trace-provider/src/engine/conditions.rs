//! Conditions on durations, which trace points compare at the end of a scope or operation.
//!
//! ```text
//!   refs of category and name ──► head of a list ──► place ──► place
//!                                                    limit, count
//! ```
//!
//! A condition keeps its place until the process ends, so that a thread that comes late counts for
//! the right one. The refs are those of the current recording.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use once_cell::race::OnceBox;
use trace_protocol::buffer::producer::WatchedDuration;
use trace_protocol::message::DurationLimit;

use crate::engine::alert::AlertCount;
use crate::lock::ProcessLock;

/// The number of lists.
const LISTS: usize = 64;

/// The places of the first segment. Each further one is twice as large.
const FIRST: usize = 64;

/// The number of segments. They and [`MOST_BYTES`] are limited so that a manager cannot fill the
/// program's memory.
const SEGMENTS: usize = 8;

/// The most bytes of the categories and names of all conditions.
const MOST_BYTES: usize = 4 << 20;

/// The limit of a condition that is not compared: no duration is longer.
const NEVER: u64 = u64::MAX - 1;

/// The limit of a condition that never holds, and whose scopes are announced to a tracer of
/// instructions.
const ANNOUNCED: u64 = u64::MAX;

/// The conditions of a process.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// The first place of each list; 0 for none. Places are numbered from 1.
    ///
    /// Rules: stored under the lock of the string table. Traced threads load them.
    heads: [AtomicU32; LISTS],
    segments: [OnceBox<Box<[Place]>>; SEGMENTS],
    places: ProcessLock<Places>,
    /// Whether trace points compare conditions that were not reported to the manager.
    has_new: AtomicBool,
    /// Whether there was a condition whose scopes are announced since the lists were empty.
    has_announced: AtomicBool,
}

/// The place of each condition: category, name and ticks.
#[derive(Debug, Default)]
struct Places {
    numbers: HashMap<(String, String, u64), u32>,
    bytes: usize,
}

/// The place of a condition. Rules: as for the heads of lists.
#[derive(Debug, Default)]
struct Place {
    /// The refs of category and name. Changed while nothing is recorded.
    refs: AtomicU32,
    /// The next place in the list; 0 for none. Changed while nothing is recorded.
    next: AtomicU32,
    /// The condition holds for longer durations.
    ticks: AtomicU64,
    count: AlertCount,
}

impl Conditions {
    pub(crate) const fn new() -> Self {
        Self {
            heads: [const { AtomicU32::new(0) }; LISTS],
            segments: [const { OnceBox::new() }; SEGMENTS],
            places: ProcessLock::new(),
            has_new: AtomicBool::new(false),
            has_announced: AtomicBool::new(false),
        }
    }

    /// Counts a duration for each of its conditions that holds. Returns whether the service thread
    /// must be woken. Works in signal handlers.
    #[inline]
    pub(crate) fn compare(&self, duration: WatchedDuration<'_>) -> bool {
        let WatchedDuration { names, ticks, .. } = duration;
        let mut next = self.head(names).map_or(0, |head| head.load(Ordering::Acquire));
        let mut wakes = false;
        while let Some(place) = self.place(next) {
            let holds = place.refs.load(Ordering::Relaxed) == names
                && ticks > place.ticks.load(Ordering::Relaxed);
            if holds && duration.is_current() {
                wakes |= place.count.raise();
            }
            next = place.next.load(Ordering::Relaxed);
        }
        wakes
    }

    /// Returns whether any scopes may be announced.
    #[inline]
    pub(crate) fn has_announced(&self) -> bool {
        self.has_announced.load(Ordering::Relaxed)
    }

    /// Returns whether scopes with these names are announced. Works in signal handlers.
    pub(crate) fn announces(&self, names: u32) -> bool {
        let mut next = self.head(names).map_or(0, |head| head.load(Ordering::Acquire));
        while let Some(place) = self.place(next) {
            let is_announced = place.refs.load(Ordering::Relaxed) == names
                && place.ticks.load(Ordering::Relaxed) == ANNOUNCED;
            if is_announced {
                return true;
            }
            next = place.next.load(Ordering::Relaxed);
        }
        false
    }

    /// Returns the place of a condition; `None` if the process has had too many.
    pub(crate) fn place_of(&'static self, limit: &DurationLimit) -> Option<u32> {
        let mut places = self.places.lock();
        let key = (limit.category.clone(), limit.name.clone(), limit.ticks);
        if let Some(number) = places.numbers.get(&key) {
            return Some(*number);
        }
        let number = u32::try_from(places.numbers.len() + 1).ok()?;
        let bytes = places.bytes + key.0.len() + key.1.len();
        let (segment, _) = index(number).filter(|_| bytes <= MOST_BYTES)?;
        let new = || Box::new((0..FIRST << segment).map(|_| Place::default()).collect());
        let _places = self.segments.get(segment)?.get_or_init(new);
        places.bytes = bytes;
        places.numbers.insert(key, number);
        Some(number)
    }

    /// Empties the lists. While nothing is recorded.
    pub(crate) fn clear(&self) {
        self.heads.iter().for_each(|head| head.store(0, Ordering::Relaxed));
        self.set_new(false);
        self.has_announced.store(false, Ordering::Relaxed);
    }

    /// Adds a place that is in no list.
    pub(crate) fn list(&self, number: u32, refs: u32, ticks: u64) {
        let (Some(place), Some(head)) = (self.place(number), self.head(refs)) else { return };
        place.refs.store(refs, Ordering::Relaxed);
        self.set_ticks(number, ticks);
        place.next.store(head.load(Ordering::Relaxed), Ordering::Relaxed);
        // Release: a thread that finds the place sees its contents.
        head.store(number, Ordering::Release);
    }

    /// Sets the limit of a place.
    pub(crate) fn set_ticks(&self, place: u32, ticks: u64) {
        if let Some(place) = self.place(place) {
            place.ticks.store(ticks, Ordering::Relaxed);
            if ticks == ANNOUNCED {
                self.has_announced.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Makes the condition of a place hold for no duration.
    pub(crate) fn disable(&self, place: u32) {
        self.set_ticks(place, NEVER);
        self.take(place);
    }

    /// Returns the number of durations for which the condition held, and resets it.
    pub(crate) fn take(&self, place: u32) -> u64 {
        let raised = self.place(place).filter(|place| place.count.is_raised());
        raised.map_or(0, |place| place.count.take_all())
    }

    /// Sets whether there are conditions to report.
    pub(crate) fn set_new(&self, has_new: bool) {
        self.has_new.store(has_new, Ordering::Relaxed);
    }

    /// Returns whether there are conditions to report.
    pub(crate) fn has_new(&self) -> bool {
        self.has_new.load(Ordering::Relaxed)
    }

    /// Resets all counts. Does nothing but stores.
    pub(crate) fn forget(&self) {
        let places = self.segments.iter().filter_map(OnceBox::get).flatten();
        places.for_each(|place| place.count.clear());
    }

    fn head(&self, refs: u32) -> Option<&AtomicU32> {
        let list = refs.wrapping_mul(0x9e37_79b1) >> 26;
        self.heads.get(list as usize)
    }

    fn place(&self, number: u32) -> Option<&Place> {
        let (segment, index) = index(number)?;
        self.segments.get(segment)?.get()?.get(index)
    }
}

/// Returns the segment of a place, and its index in it. `None` for 0.
fn index(number: u32) -> Option<(usize, usize)> {
    let index = number.checked_sub(1)? as usize;
    let segment = (index / FIRST + 1).ilog2() as usize;
    Some((segment, index - FIRST * ((1 << segment) - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(ticks: u64) -> DurationLimit {
        let (category, name) = ("web".to_owned(), "request".to_owned());
        DurationLimit { number: 0, category, name, ticks }
    }

    /// A manager cannot fill the memory by requests for different conditions.
    #[test]
    fn the_number_of_conditions_is_bounded() {
        static CONDITIONS: Conditions = Conditions::new();
        let most = (FIRST * ((1 << SEGMENTS) - 1)) as u32;
        let places = (1..).map_while(|ticks| CONDITIONS.place_of(&limit(ticks)));
        assert!(places.eq(1..=most));
        assert_eq!(CONDITIONS.place_of(&limit(7)), Some(7));
        (1..=most).for_each(|place| CONDITIONS.set_ticks(place, place.into()));
        let ticks = |place| CONDITIONS.place(place).map(|it| it.ticks.load(Ordering::Relaxed));
        assert!((1..=most).all(|place| ticks(place) == Some(place.into())));
        assert_eq!([ticks(0), ticks(most + 1)], [None; 2]);
    }

    #[test]
    fn the_size_of_all_names_is_bounded() {
        static CONDITIONS: Conditions = Conditions::new();
        let long = |ticks| DurationLimit { name: "x".repeat(60 << 10), ..limit(ticks) };
        let places = (1..).map_while(|ticks| CONDITIONS.place_of(&long(ticks))).count();
        assert_eq!(places, MOST_BYTES / (60 << 10));
        assert_eq!(CONDITIONS.place_of(&long(1)), Some(1));
    }

    #[test]
    fn only_conditions_with_the_longest_limit_announce_scopes() {
        static CONDITIONS: Conditions = Conditions::new();
        let [short, longest] = [5, ANNOUNCED].map(|ticks| {
            let place = CONDITIONS.place_of(&limit(ticks)).unwrap();
            CONDITIONS.list(place, 7, ticks);
            place
        });
        assert!(CONDITIONS.announces(7) && !CONDITIONS.announces(8));
        assert!(CONDITIONS.has_announced());
        CONDITIONS.disable(longest);
        assert!(!CONDITIONS.announces(7));
        CONDITIONS.set_ticks(longest, ANNOUNCED);
        CONDITIONS.disable(short);
        assert!(CONDITIONS.announces(7));
        CONDITIONS.clear();
        assert!(!CONDITIONS.announces(7) && !CONDITIONS.has_announced());
    }

    #[test]
    fn all_refs_have_a_list() {
        let conditions = Conditions::new();
        for refs in [0, 1, 0x0001_0001, 0x7fff_7fff, u32::MAX] {
            assert!(conditions.head(refs).is_some());
        }
    }
}
