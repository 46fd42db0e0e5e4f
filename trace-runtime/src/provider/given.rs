//! Names that the application gives: to its threads, its tracks and itself.
//!
//! They go to the durable buffer of every recording, so that no wrap overwrites them.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::MutexGuard;

use trace_format::encode;
use trace_format::layout::{cut_str, ObjectType};
use trace_format::record::{KernelObject, Record};

use super::lock::ProcessLock;
use super::names::thread_object;
use super::table::{table, Table};
use crate::{thread, track, RECORDER};

/// Bytes of a name that are kept.
const LONGEST: usize = 1000;

/// The names of this process. Rules: this lock is taken before that of the table.
static GIVEN: ProcessLock<Given> = ProcessLock::new();

/// The names that threads and the process were given.
#[derive(Debug, Default)]
pub(super) struct Given {
    threads: HashMap<u32, Box<str>>,
    process: Option<Box<str>>,
}

impl Given {
    /// The name of a thread.
    pub(super) fn of_thread(&self, thread: u32) -> Option<&str> {
        self.threads.get(&thread).map(|name| &**name)
    }
}

/// The names, locked.
pub(super) fn given() -> MutexGuard<'static, Given> {
    GIVEN.lock()
}

/// Makes a forked child forget its parent's names. Only stores.
pub(super) fn forget() {
    GIVEN.forget();
}

/// Forgets the name of the thread with this id when it ends. A thread that forks has another id in the child.
struct Ending(Cell<u32>);

impl Drop for Ending {
    fn drop(&mut self) {
        let thread = self.0.get();
        let mut given = given();
        let name = given.threads.remove(&thread);
        if let (Some(name), Some(slot)) = (name, thread::attached()) {
            if RECORDER.is_recording() && !slot.is_named() {
                tell_thread(thread.into(), &name);
                slot.set_named(thread);
            }
        }
    }
}

thread_local! {
    static ENDING: Ending = const { Ending(Cell::new(0)) };
}

/// Names the calling thread. See [`trace_thread_name!`](crate::trace_thread_name).
pub fn name_thread(name: &str) {
    let name = cut_str(name, LONGEST);
    let thread = thread::id::ask_kernel();
    let mut given = given();
    // A thread whose end has begun is not remembered: nobody would forget it.
    if ENDING.try_with(|ending| ending.0.set(thread)).is_ok() {
        given.threads.insert(thread, name.into());
    }
    tell_thread(thread.into(), name);
    if let Some(slot) = thread::attached() {
        slot.set_named(thread);
    }
}

/// Names this process. See [`trace_process_name!`](crate::trace_process_name).
pub fn name_process(name: &str) {
    let name = cut_str(name, LONGEST);
    let mut given = given();
    given.process = Some(name.into());
    while_recording(|table| tell_process(table, name));
}

/// Tells a new track's name to the recording under way.
pub(crate) fn tell_track(koid: u64, name: &str) {
    tell_thread(koid, name);
}

/// Tells a new recording all names but those of threads, which are told as the threads are found recording.
pub(super) fn tell_all(given: &Given, table: &mut Table) {
    if let Some(name) = &given.process {
        tell_process(table, name);
    }
    for (koid, name) in track::all() {
        append_thread(table, koid, name);
    }
}

/// Bytes of the durable buffer that the names take which a new recording is told.
pub(super) fn hint() -> usize {
    const BESIDE_THE_NAME: usize = 48;
    track::all().map(|(_, name)| BESIDE_THE_NAME + cut_str(name, LONGEST).len()).sum()
}

fn tell_thread(koid: u64, name: &str) {
    while_recording(|table| append_thread(table, koid, name));
}

fn while_recording(tell: impl FnOnce(&mut Table)) {
    if let Some(table) = table().as_mut().filter(|table| table.is_wanted()) {
        tell(table);
    }
}

fn append_thread(table: &mut Table, koid: u64, name: &str) {
    let mut words = Vec::new();
    if thread_object(&mut words, koid, cut_str(name, LONGEST)).is_ok() {
        table.append_name(&words);
    }
}

fn tell_process(table: &mut Table, name: &str) {
    let object = KernelObject {
        object_type: ObjectType::PROCESS,
        koid: std::process::id().into(),
        name: name.into(),
        arguments: (&[]).into(),
    };
    let mut words = Vec::new();
    if encode::append(&mut words, &Record::from(object)).is_ok() {
        table.append_name(&words);
    }
}
