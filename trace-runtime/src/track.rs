//! Tracks: threads of this process that are none of the system's, for events that belong to no
//! thread.

use crate::names;
use crate::tracks::koid_of;

/// A track of its own in the trace, shown like a thread of this process: a GPU queue, a connection,
/// a device.
///
/// [`trace_track!`](crate::trace_track) records on it, from any thread. It is named in every
/// recording, also in one that is under way when the track is made. Making one takes a lock and
/// allocates what is never freed: make it once and keep it; it is a number to copy.
///
/// ```
/// use trace_runtime::{trace_track, Track};
///
/// let queue = Track::new("GPU queue 0");
/// trace_track!(queue, duration("gpu", "submit", "draws" => 12u32));
/// ```
///
/// In the trace it is a thread whose koid has bit 63 set, as none of the system's has, and a number
/// that counts the tracks of the process, whatever their ids are: no two tracks have the same. Some
/// viewers know only the low 32 bits of a koid: these have bit 30 set, so that they are no thread
/// of Linux's either, which numbers them up to 2²², and differ for the first 2³⁰ tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Track {
    koid: u64,
    process: u32,
}

impl Track {
    /// Makes a track, which is no other one's also if that has the same name.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self::of(names::make_track(name.as_ref()))
    }

    /// The track with this id: the same one for the same id, in this process, and another one for
    /// each other id, also where that is a pointer. The name given last is shown. Costs a lock and
    /// a look-up; the first time for an id it allocates what is never freed.
    pub fn with_id(name: impl AsRef<str>, id: u64) -> Self {
        Self::of(names::track_with_id(name.as_ref(), id))
    }

    /// The track with this koid, of which only the koid is known. The collector adds the process.
    pub(crate) const fn with_koid(koid: u64) -> Self {
        Self { koid, process: 0 }
    }

    fn of(number: u64) -> Self {
        Self { koid: koid_of(number), process: std::process::id() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracks::number_of;

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

    /// Ids that differ in the bits that mark a track, as those of pointers do.
    #[test]
    fn every_id_is_a_track_of_its_own() {
        let ids = [
            0,
            1 << 30,
            1 << 29,
            1 << 63,
            1 << 63 | 1 << 30,
            u64::MAX,
            u64::MAX ^ 1 << 30,
            3 << 29,
        ];
        let with_ids: Vec<Track> = ids.iter().map(|id| Track::with_id("own", *id)).collect();
        let without = (0..20).map(|_| Track::new("own"));
        let all: std::collections::HashSet<Track> =
            with_ids.iter().copied().chain(without).collect();
        assert_eq!(all.len(), ids.len() + 20);
        let again: Vec<Track> = ids.iter().map(|id| Track::with_id("own", *id)).collect();
        assert_eq!(again, with_ids);
    }

    #[test]
    fn koids_tell_their_numbers() {
        for number in [0, 1, (1 << 30) - 1, 1 << 30, 1 << 31, (1 << 62) - 1] {
            assert_eq!(number_of(koid_of(number)), Some(number));
            assert_ne!(koid_of(number) as u32 & 1 << 30, 0);
        }
        assert_eq!(number_of(1 << 22), None);
    }

    #[test]
    fn the_last_name_of_an_id_counts() {
        let track = Track::with_id("first", 77);
        assert_eq!(names::track_name(track.koid()).as_deref(), Some("first"));
        for name in ["second", "second", "third"] {
            assert_eq!(Track::with_id(name, 77), track);
        }
        assert_eq!(names::track_name(track.koid()).as_deref(), Some("third"));
    }
}
