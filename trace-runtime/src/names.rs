//! Names that the application gives: to its threads, its tracks and itself.
//!
//! They are written to the durable buffer of every recording, so that no wrap overwrites them. That
//! buffer is small: the first name of an object is written at once. Later, the service thread
//! periodically writes the current name if it has changed.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use trace_format::encode::{self, EncodeError};
use trace_format::layout::{cut_str, ObjectType};
use trace_format::record::{KernelObject, Record};
use trace_protocol::thread_id;
use trace_provider::{thread_object, Keep, ProcessLock, SignalGuard, Table};

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
    /// Objects that have a name in the durable buffer, the current or an older one.
    written: HashSet<Object>,
    /// Objects whose current name is not written yet.
    pending: HashSet<Object>,
    /// The number of the durable buffer's contents that `written` refers to.
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

    /// Records the new name of `object`: at once if it is the first one.
    fn note(&mut self, object: Object) {
        let mut table = ENGINE.table();
        let recording = table.as_mut().filter(|table| table.is_recording());
        let first = recording.filter(|table| {
            self.follow(table);
            !self.written.contains(&object)
        });
        if !first.is_some_and(|table| self.write(object, table, Keep::Eighth)) {
            self.pending.insert(object);
        }
    }

    /// Writes the name of `object`. Returns false if the durable buffer is full.
    fn write(&mut self, object: Object, table: &mut Table, keep: Keep) -> bool {
        let mut words = Vec::new();
        let encoded = self.name(object).map(|name| encode_name(&mut words, object, name));
        if !matches!(encoded, Some(Ok(()))) {
            // The object does not exist any more.
            return true;
        }
        let written = table.append_name(&words, keep).is_some();
        if written {
            self.written.insert(object);
            self.pending.remove(&object);
        }
        written
    }

    /// Resets `written` if the durable buffer is new or was cleared.
    fn follow(&mut self, table: &Table) {
        if self.contents != table.contents() {
            self.contents = table.contents();
            self.written.clear();
        }
    }

    /// Writes all names to a new recording, but those of threads: a thread's name is written when
    /// the thread records.
    fn write_all(&mut self, table: &mut Table) {
        self.follow(table);
        let (written, tracks) =
            (&self.written, self.tracks.all().map(|(number, _)| Object::Thread(koid_of(number))));
        let known = self.process.iter().map(|_| Object::Process).chain(tracks);
        self.pending.extend(known.filter(|object| !written.contains(object)));
        self.pending.retain(|object| match object {
            Object::Thread(koid) if number_of(*koid).is_none() => written.contains(object),
            _ => true,
        });
        self.write_pending(table, Keep::Eighth);
    }

    /// Writes pending names until the durable buffer is full.
    fn write_pending(&mut self, table: &mut Table, keep: Keep) {
        let pending: Vec<Object> = self.pending.iter().copied().collect();
        let _all = pending.into_iter().all(|object| self.write(object, table, keep));
    }

    /// Writes pending names at the end of a recording. Returns how many are omitted because the
    /// durable buffer is full.
    fn write_last(&mut self, table: &mut Table) -> u64 {
        let pending: Vec<Object> = self.pending.iter().copied().collect();
        let unwritten =
            pending.into_iter().filter(|object| !self.write(*object, table, Keep::Little));
        unwritten.count() as u64
    }

    /// Writes the application's name of a thread, if there is one and it is not written. Returns
    /// whether there is one.
    fn write_thread(&mut self, thread: u32, table: &mut Table) -> bool {
        self.follow(table);
        let object = Object::Thread(thread.into());
        if !self.threads.contains_key(&thread) {
            return false;
        }
        if !self.written.contains(&object) && !self.write(object, table, Keep::Eighth) {
            self.pending.insert(object);
        }
        true
    }

    /// Removes a thread that ends, and writes its name if it is pending.
    fn end_thread(&mut self, thread: u32) {
        let object = Object::Thread(thread.into());
        let slot = thread::attached().filter(|slot| RECORDER.is_recording() && !slot.is_named());
        if slot.is_some() || self.pending.contains(&object) {
            if let Some(table) = ENGINE.table().as_mut().filter(|table| table.is_recording()) {
                self.follow(table);
                if self.threads.contains_key(&thread) && !self.write(object, table, Keep::Eighth) {
                    table.count_omitted_names(1);
                }
            }
            if let Some(slot) = slot {
                slot.set_named(thread);
            }
        }
        self.threads.remove(&thread);
        self.written.remove(&object);
        self.pending.remove(&object);
    }
}

/// The names, locked.
fn names() -> SignalGuard<'static, Names> {
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
    with_table(Names::write_all);
}

/// Writes the names that were changed, if there is much room.
pub(crate) fn serve() {
    with_table(|names, table| names.write_pending(table, Keep::Half));
}

/// Writes the last names of a recording, and counts those that found no room.
pub(crate) fn end() {
    with_table(|names, table| {
        let unwritten = names.write_last(table);
        table.count_omitted_names(unwritten);
    });
}

/// Writes the name that a thread was given, or has `kernel` write the kernel's. Returns whether it
/// has a name.
pub(crate) fn name_recording_thread(thread: u32, kernel: &mut dyn FnMut() -> bool) -> bool {
    // Locked until the name is recorded, so that no younger one comes before it.
    let mut names = names();
    let given = ENGINE.table().as_mut().is_some_and(|table| names.write_thread(thread, table));
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

/// Returns the number of bytes that the names need in the durable buffer.
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
