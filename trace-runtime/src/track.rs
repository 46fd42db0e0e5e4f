//! Tracks: threads of this process that are none of the system's, for events that belong to no thread.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use trace_format::layout::ARTIFICIAL_KOID_BIT;

use crate::provider::given;

/// A track of its own in the trace, shown like a thread of this process: a GPU queue, a connection, a device.
///
/// [`trace_track!`](crate::trace_track) records on it, from any thread. It is named in every recording, also in one that is under way
/// when the track is made. Making one takes a lock and allocates what is never freed: make it once and keep it; it is a number to copy.
///
/// ```
/// use trace_runtime::{trace_track, Track};
///
/// let queue = Track::new("GPU queue 0");
/// trace_track!(queue, duration("gpu", "submit", "draws" => 12u32));
/// ```
///
/// In the trace it is a thread whose koid has bit 63 set, as none of the system's has. Some viewers know only the low 32 bits of it:
/// these have bit 30 set, so that they are no thread of Linux's either, which numbers them up to 2²².
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Track {
    koid: u64,
    process: u32,
}

/// The bit that tells the low half of a track's koid from a thread of Linux's.
const NO_THREAD: u64 = 1 << 30;

/// The bit that tells tracks with a number of ours from those with an id of the application's.
const OWN_NUMBER: u64 = 1 << 29;

/// How many tracks there are without an id.
static NUMBERED: AtomicU32 = AtomicU32::new(0);

/// The track that was made last.
///
/// Rules: pushed to with compare and exchange; nothing is ever taken away, so that it can be walked at any time, also in a forked child.
static MADE: AtomicPtr<Made> = AtomicPtr::new(null_mut());

/// A track with its name.
#[derive(Debug)]
struct Made {
    koid: u64,
    name: Box<str>,
    before: *const Made,
}

impl Track {
    /// Makes a track, which is no other one's also if that has the same name.
    pub fn new(name: impl AsRef<str>) -> Self {
        let number = NUMBERED.fetch_add(1, Ordering::Relaxed);
        Self::named(NO_THREAD | OWN_NUMBER | u64::from(number), name.as_ref())
    }

    /// The track with this id: the same one for the same id, in this process. The name given last is shown.
    ///
    /// Ids below 2²⁹ are told apart in every viewer.
    pub fn with_id(name: impl AsRef<str>, id: u64) -> Self {
        let track = Self::of(NO_THREAD | id);
        let known = made().find(|made| made.koid == track.koid);
        match known.is_some_and(|known| &*known.name == name.as_ref()) {
            true => track,
            false => Self::named(NO_THREAD | id, name.as_ref()),
        }
    }

    fn of(id: u64) -> Self {
        Self { koid: id | ARTIFICIAL_KOID_BIT, process: std::process::id() }
    }

    fn named(id: u64, name: &str) -> Self {
        let track = Self::of(id);
        remember(track.koid, name);
        given::tell_track(track.koid, name);
        track
    }

    /// The koid of the thread that stands for it.
    #[inline]
    #[must_use]
    pub const fn koid(self) -> u64 {
        self.koid
    }

    /// The process that made it. Who collects the records puts the one there that wrote them.
    #[inline(always)]
    pub(crate) fn process(self) -> u64 {
        u64::from(self.process)
    }
}

fn remember(koid: u64, name: &str) {
    let made = Box::leak(Box::new(Made { koid, name: name.into(), before: MADE.load(Ordering::Acquire) }));
    while let Err(before) = MADE.compare_exchange(made.before.cast_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
        made.before = before;
    }
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

/// Each track's koid and name; of those with several names the last.
pub(crate) fn all() -> impl Iterator<Item = (u64, &'static str)> {
    let mut seen = std::collections::HashSet::new();
    made().filter(move |made| seen.insert(made.koid)).map(|made| (made.koid, &*made.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_are_told_apart_from_one_another_and_from_threads() {
        let (one, other) = (Track::new("same"), Track::new("same"));
        let (known, again) = (Track::with_id("known", 5), Track::with_id("known", 5));
        assert_eq!(known, again);
        let koids = [one.koid(), other.koid(), known.koid(), Track::with_id("another", 6).koid()];
        let low: std::collections::HashSet<u32> = koids.iter().map(|koid| *koid as u32).collect();
        assert_eq!(low.len(), 4);
        assert!(koids.iter().all(|koid| koid >> 63 == 1));
        assert!(low.iter().all(|low| *low > 1 << 22));
    }

    #[test]
    fn the_last_name_of_an_id_counts() {
        let track = Track::with_id("first", 77);
        Track::with_id("second", 77);
        Track::with_id("second", 77);
        let names: Vec<&str> = all().filter(|(koid, _)| *koid == track.koid()).map(|(_, name)| name).collect();
        assert_eq!(names, ["second"]);
        assert_eq!(made().filter(|made| made.koid == track.koid()).count(), 2);
    }
}
