//! Tracks and their descriptors.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use trace_format::ThreadKoids;

use super::hints::Hints;
use super::lanes::Lanes;
use super::message::{CounterDescriptor, ProcessDescriptor, ThreadDescriptor, TrackDescriptor};
use super::packets::Packets;
use trace_analyze::catalog::Catalog;

/// The UUID of a track: a number from 1.
pub(super) type Uuid = u64;

/// The tracks of a trace.
///
/// Perfetto uses the first name of a process. Therefore the descriptors of processes and threads
/// are written at the end, when all names are known.
///
/// Memory grows with the number of processes, threads and counters.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    last: Uuid,
    processes: BTreeMap<u64, Uuid>,
    threads: Vec<ThreadTrack>,
    /// The index of each thread in `threads`.
    places: HashMap<ThreadKoids, usize>,
    /// The last thread that was looked up. Consecutive events often have the same thread.
    recent: Option<(ThreadKoids, usize)>,
    counters: HashMap<(Uuid, CounterKey), Uuid>,
    named: HashMap<(Uuid, &'static str), Uuid>,
    pub(super) hints: Hints,
}

/// A counter's label and key in the catalog, and its id.
pub(super) type CounterKey = (u32, u32, u64);

#[derive(Debug)]
struct ThreadTrack {
    uuid: Uuid,
    koids: ThreadKoids,
    process: Uuid,
    lanes: Lanes,
    beside: Vec<Uuid>,
}

/// The parent of tracks without a process.
pub(super) const ROOT: Uuid = 0;

impl Tracks {
    fn next(&mut self) -> Uuid {
        self.last += 1;
        self.last
    }

    /// Returns the track of a process.
    pub(super) fn process(&mut self, koid: u64) -> Uuid {
        if let Some(uuid) = self.processes.get(&koid) {
            return *uuid;
        }
        let uuid = self.next();
        self.processes.insert(koid, uuid);
        uuid
    }

    #[inline]
    fn of_thread(&mut self, koids: ThreadKoids) -> Option<&mut ThreadTrack> {
        let place = match self.recent {
            Some((recent, place)) if recent == koids => place,
            _ => *self.places.get(&koids)?,
        };
        self.recent = Some((koids, place));
        self.threads.get_mut(place)
    }

    /// Returns the track of a thread.
    #[inline]
    pub(super) fn thread(&mut self, koids: ThreadKoids) -> Uuid {
        match self.of_thread(koids) {
            Some(track) => track.uuid,
            None => self.new_thread(koids),
        }
    }

    #[cold]
    fn new_thread(&mut self, koids: ThreadKoids) -> Uuid {
        let process = self.process(koids.process);
        let uuid = self.next();
        self.places.insert(koids, self.threads.len());
        let (lanes, beside) = (Lanes::default(), Vec::new());
        self.threads.push(ThreadTrack { uuid, koids, process, lanes, beside });
        uuid
    }

    /// Writes the descriptors of processes and threads.
    pub(super) fn finish(&self, packets: &mut Packets, catalog: &Catalog) {
        for (koid, uuid) in &self.processes {
            let name = catalog.process_name(*koid);
            packets.descriptor(process_descriptor(*uuid, *koid, name, &self.hints));
        }
        for ThreadTrack { uuid, koids, process, .. } in &self.threads {
            let name = catalog.thread_name(*koids);
            packets.descriptor(thread_descriptor(*uuid, *process, *koids, name, &self.hints));
        }
    }

    /// Returns the track for a duration of a thread: the thread's track, or a further one if the
    /// duration overlaps others.
    pub(super) fn for_duration(
        &mut self,
        packets: &mut Packets,
        koids: ThreadKoids,
        (start, end): (u64, u64),
    ) -> Uuid {
        self.thread(koids);
        let mut last = self.last;
        let Some(track) = self.of_thread(koids) else {
            return ROOT;
        };
        let Some(beside) = track.lanes.place(start, end).checked_sub(1) else {
            return track.uuid;
        };
        while track.beside.len() <= beside {
            last += 1;
            track.beside.push(last);
            packets.descriptor(plain(last, track.uuid, "overlapping"));
        }
        let uuid = track.beside.get(beside).copied().unwrap_or(track.uuid);
        self.last = last;
        uuid
    }

    /// Returns the track of a counter.
    pub(super) fn counter(
        &mut self,
        packets: &mut Packets,
        process: Uuid,
        key: CounterKey,
        name: impl FnOnce() -> String,
    ) -> Uuid {
        match self.counters.entry((process, key)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                self.last += 1;
                let counter = Some(CounterDescriptor {});
                let descriptor = plain(self.last, process, &name());
                packets.descriptor(TrackDescriptor { counter, ..descriptor });
                *entry.insert(self.last)
            }
        }
    }

    /// Creates a track. Tracks of the same name stay separate.
    pub(super) fn single(&mut self, packets: &mut Packets, parent: Uuid, name: &str) -> Uuid {
        let uuid = self.next();
        packets.descriptor(plain(uuid, parent, name));
        uuid
    }

    /// Returns the track of a name below another one.
    pub(super) fn named(
        &mut self,
        packets: &mut Packets,
        parent: Uuid,
        name: &'static str,
    ) -> Uuid {
        if let Some(uuid) = self.named.get(&(parent, name)) {
            return *uuid;
        }
        let uuid = self.single(packets, parent, name);
        self.named.insert((parent, name), uuid);
        uuid
    }
}

pub(super) fn plain(uuid: Uuid, parent: Uuid, name: &str) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        parent_uuid: (parent != ROOT).then_some(parent),
        name: Some(name.to_owned()),
        ..TrackDescriptor::default()
    }
}

/// Returns a koid as a process or thread id, if it can be one. 0 is the idle thread in Perfetto.
fn number(koid: u64) -> Option<i32> {
    i32::try_from(koid).ok().filter(|number| *number != 0)
}

/// Returns the process and thread id of a thread, if Perfetto can express its koids.
pub(super) fn ids(koids: ThreadKoids) -> Option<(i32, i32)> {
    Some((number(koids.process)?, number(koids.thread)?))
}

fn process_descriptor(uuid: Uuid, koid: u64, name: &str, hints: &Hints) -> TrackDescriptor {
    let Some(pid) = number(koid) else {
        return plain(uuid, ROOT, &labelled("process", koid, name));
    };
    let process = Some(ProcessDescriptor {
        pid: Some(pid),
        process_name: (!name.is_empty()).then(|| name.to_owned()),
        process_labels: hints.labels(koid),
        legacy_sort_index: hints.of_process(koid),
    });
    TrackDescriptor { uuid: Some(uuid), process, ..TrackDescriptor::default() }
}

/// Returns the descriptor of a thread. If Perfetto cannot express the koids as ids, it is a track
/// below the process, as an application's tracks are.
fn thread_descriptor(
    uuid: Uuid,
    process: Uuid,
    koids: ThreadKoids,
    name: &str,
    hints: &Hints,
) -> TrackDescriptor {
    let Some((pid, tid)) = ids(koids) else {
        return plain(uuid, process, &labelled("thread", koids.thread, name));
    };
    let thread = Some(ThreadDescriptor {
        pid: Some(pid),
        tid: Some(tid),
        thread_name: (!name.is_empty()).then(|| name.to_owned()),
        legacy_sort_index: hints.of_thread(koids),
    });
    let parent_uuid = Some(process);
    TrackDescriptor { uuid: Some(uuid), parent_uuid, thread, ..TrackDescriptor::default() }
}

fn labelled(what: &str, koid: u64, name: &str) -> String {
    match name {
        "" if koid == 0 => format!("unknown {what}"),
        "" => format!("{what} {koid:#x}"),
        // The koids of an application's tracks are artificial.
        name if koid >> 63 == 1 => name.to_owned(),
        name => format!("{name} {koid:#x}"),
    }
}
