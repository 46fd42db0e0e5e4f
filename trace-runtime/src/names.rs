//! Names that the application gives: to its threads, its tracks and itself.
//!
//! They go to the durable buffer of every recording, so that no wrap overwrites them. That has no
//! room to spare: the first name of an object is written at once, and of those that follow the one
//! that it has when the service thread looks next, or at the end.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::MutexGuard;

use trace_format::encode::{self, EncodeError};
use trace_format::layout::{cut_str, ObjectType};
use trace_format::record::{KernelObject, Record};
use trace_protocol::thread_id;
use trace_provider::{thread_object, Keep, ProcessLock, Table};

use crate::tracks::{koid_of, number_of, Tracks};
use crate::{thread, ENGINE, RECORDER};

/// Bytes of a name that are kept.
const LONGEST: usize = 1000;

/// The names of this process. Rules: this lock is taken before that of the table.
static NAMES: ProcessLock<Names> = ProcessLock::new();

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Object {
    Process,
    /// A thread or a track, by its koid.
    Thread(u64),
}

/// The names of threads, tracks and the process.
#[derive(Debug, Default)]
struct Names {
    threads: HashMap<u32, Box<str>>,
    process: Option<Box<str>>,
    tracks: Tracks,
    /// What the durable buffer has a name of, the last one or an older one.
    told: HashSet<Object>,
    /// What has a name that is yet to be written.
    pending: HashSet<Object>,
    /// The contents of the durable buffer that `told` is about.
    contents: u64,
}

impl Names {
    fn name(&self, object: Object) -> Option<&str> {
        match object {
            Object::Process => self.process.as_deref(),
            Object::Thread(koid) => match number_of(koid) {
                Some(number) => self.tracks.name(number),
                None => self.threads.get(&u32::try_from(koid).ok()?).map(|name| &**name),
            },
        }
    }

    /// Tells a recording under way the name of `object`, which is new: at once if it is the first
    /// one.
    fn note(&mut self, object: Object) {
        let mut table = ENGINE.table();
        let recording = table.as_mut().filter(|table| table.is_wanted());
        let first = recording.filter(|table| {
            self.turn_to(table);
            !self.told.contains(&object)
        });
        if !first.is_some_and(|table| self.write(object, table, Keep::Eighth)) {
            self.pending.insert(object);
        }
    }

    /// Writes the name of `object`. Returns whether it found room.
    fn write(&mut self, object: Object, table: &mut Table, keep: Keep) -> bool {
        let mut words = Vec::new();
        let encoded = self.name(object).map(|name| encode_name(&mut words, object, name));
        if !matches!(encoded, Some(Ok(()))) {
            // An object that has gone.
            return true;
        }
        let written = table.append_name(&words, keep).is_some();
        if written {
            self.told.insert(object);
            self.pending.remove(&object);
        }
        written
    }

    /// Forgets what was told if the durable buffer is another one than then, or empty again.
    fn turn_to(&mut self, table: &Table) {
        if self.contents != table.contents() {
            self.contents = table.contents();
            self.told.clear();
        }
    }

    /// Tells a new recording all names but those of threads, which are told as the threads are
    /// found recording.
    fn tell_all(&mut self, table: &mut Table) {
        self.turn_to(table);
        let (told, tracks) =
            (&self.told, self.tracks.all().map(|(number, _)| Object::Thread(koid_of(number))));
        let known = self.process.iter().map(|_| Object::Process).chain(tracks);
        self.pending.extend(known.filter(|object| !told.contains(object)));
        self.pending.retain(|object| match object {
            Object::Thread(koid) if number_of(*koid).is_none() => told.contains(object),
            _ => true,
        });
        self.tell_pending(table, Keep::Eighth);
    }

    /// Writes names that are yet to be written, until one finds no room.
    fn tell_pending(&mut self, table: &mut Table, keep: Keep) {
        let pending: Vec<Object> = self.pending.iter().copied().collect();
        let _all = pending.into_iter().all(|object| self.write(object, table, keep));
    }

    /// Writes what is yet to be written of a recording that is over. Returns how many names found
    /// no room.
    fn tell_last(&mut self, table: &mut Table) -> u64 {
        let pending: Vec<Object> = self.pending.iter().copied().collect();
        let unwritten =
            pending.into_iter().filter(|object| !self.write(*object, table, Keep::Little));
        unwritten.count() as u64
    }

    /// Writes the name that a thread was given, if it was and the recording has none. Returns
    /// whether it was given one.
    fn tell_thread(&mut self, thread: u32, table: &mut Table) -> bool {
        self.turn_to(table);
        let object = Object::Thread(thread.into());
        if !self.threads.contains_key(&thread) {
            return false;
        }
        if !self.told.contains(&object) && !self.write(object, table, Keep::Eighth) {
            self.pending.insert(object);
        }
        true
    }

    /// Forgets a thread that ends, and writes its name if the recording has it not.
    fn end_thread(&mut self, thread: u32) {
        let object = Object::Thread(thread.into());
        let slot = thread::attached().filter(|slot| RECORDER.is_recording() && !slot.is_named());
        if slot.is_some() || self.pending.contains(&object) {
            if let Some(table) = ENGINE.table().as_mut().filter(|table| table.is_wanted()) {
                self.turn_to(table);
                if self.threads.contains_key(&thread) && !self.write(object, table, Keep::Eighth) {
                    table.leave_off_names(1);
                }
            }
            if let Some(slot) = slot {
                slot.set_named(thread);
            }
        }
        self.threads.remove(&thread);
        self.told.remove(&object);
        self.pending.remove(&object);
    }
}

/// The names, locked.
fn names() -> MutexGuard<'static, Names> {
    NAMES.lock()
}

/// Locks the names, then the table of the recording.
fn with_table<T>(act: impl FnOnce(&mut Names, &mut Table) -> T) -> Option<T> {
    let mut names = names();
    let mut table = ENGINE.table();
    table.as_mut().map(|table| act(&mut names, table))
}

/// Writes all names to a new recording.
pub(crate) fn begin() {
    with_table(Names::tell_all);
}

/// Writes the names that were changed, if there is much room.
pub(crate) fn serve() {
    with_table(|names, table| names.tell_pending(table, Keep::Half));
}

/// Writes the last names of a recording, and counts those that found no room.
pub(crate) fn end() {
    with_table(|names, table| {
        let unwritten = names.tell_last(table);
        table.leave_off_names(unwritten);
    });
}

/// Writes the name that a thread was given, or has `kernel` write the kernel's. Returns whether it
/// has a name.
pub(crate) fn name_recording_thread(thread: u32, kernel: &mut dyn FnMut() -> bool) -> bool {
    // Locked until the name is recorded, so that no younger one comes before it.
    let mut names = names();
    let given = ENGINE.table().as_mut().is_some_and(|table| names.tell_thread(thread, table));
    given || kernel()
}

/// Forgets the name of the thread with this id when it ends. A thread that forks has another id in
/// the child.
struct Ending(Cell<u32>);

impl Drop for Ending {
    fn drop(&mut self) {
        names().end_thread(self.0.get());
    }
}

thread_local! {
    static ENDING: Ending = const { Ending(Cell::new(0)) };
}

/// Names the calling thread. See [`trace_thread_name!`](crate::trace_thread_name).
pub fn name_thread(name: &str) {
    let name = cut_str(name, LONGEST);
    let thread = thread_id::ask_kernel();
    let mut names = names();
    names.threads.insert(thread, name.into());
    names.note(Object::Thread(thread.into()));
    if ENDING.try_with(|ending| ending.0.set(thread)).is_err() {
        // A thread whose end has begun is not remembered: nobody would forget it.
        names.end_thread(thread);
    }
    if let Some(slot) = thread::attached() {
        slot.set_named(thread);
    }
}

/// Names this process. See [`trace_process_name!`](crate::trace_process_name).
pub fn name_process(name: &str) {
    let mut names = names();
    names.process = Some(cut_str(name, LONGEST).into());
    names.note(Object::Process);
}

/// Makes a track of its own, and returns its number.
pub(crate) fn make_track(name: &str) -> u64 {
    add_track(&mut names(), None, name)
}

/// The number of the track with this id, whose name this is from now on.
pub(crate) fn track_with_id(name: &str, id: u64) -> u64 {
    let mut names = names();
    let Some(number) = names.tracks.find(id) else { return add_track(&mut names, Some(id), name) };
    let name = cut_str(name, LONGEST);
    if names.tracks.name(number) != Some(name) {
        names.tracks.rename(number, name);
        names.note(Object::Thread(koid_of(number)));
    }
    number
}

/// The number of a track of which an event was recorded lately. Takes no lock.
pub(crate) use crate::tracks::recall as recall_track;

fn add_track(names: &mut Names, id: Option<u64>, name: &str) -> u64 {
    let number = names.tracks.add(id, cut_str(name, LONGEST));
    names.note(Object::Thread(koid_of(number)));
    number
}

/// Bytes of the durable buffer that the names take which a new recording is told.
pub(crate) fn hint() -> usize {
    const BESIDE_THE_NAME: usize = 48;
    names().tracks.all().map(|(_, name)| BESIDE_THE_NAME + name.len()).sum()
}

fn encode_name(words: &mut Vec<u64>, object: Object, name: &str) -> Result<(), EncodeError> {
    match object {
        Object::Thread(koid) => thread_object(&ENGINE, words, koid, name),
        Object::Process => {
            let process = KernelObject {
                object_type: ObjectType::PROCESS,
                // The collector puts the number there that the process has for the manager, which
                // may be in another pid namespace.
                koid: 0,
                name: name.into(),
                arguments: (&[]).into(),
            };
            encode::append(words, &Record::from(process))
        }
    }
}

/// The name of a track.
#[cfg(test)]
pub(crate) fn track_name(koid: u64) -> Option<String> {
    names().name(Object::Thread(koid)).map(str::to_owned)
}
