//! Slots for the threads that write records.

use std::io;

use trace_protocol::buffer::producer::Recorder;

use crate::generation::Generation;
use crate::sys;

/// Prepares a recorder with slots, and with epochs that its process has not inherited.
///
/// # Errors
/// As for [`add_slots`], if the recorder has no slot.
pub(crate) fn prepare(recorder: &'static Recorder, membarrier: bool) -> io::Result<()> {
    if !recorder.is_provided() {
        recorder.provide(Generation::current().number(), membarrier);
    }
    match add_slots(recorder) {
        Err(error) if recorder.has_no_slots() => Err(error),
        _ => Ok(()),
    }
}

/// Maps slots for more threads in advance, because a traced thread makes no system call for its
/// slot.
///
/// # Errors
/// The error of mmap, for example if the process has reached its limit of locked memory. Threads
/// without a slot lose their records.
pub(crate) fn add_slots(recorder: &Recorder) -> io::Result<()> {
    while let Some(count) = recorder.missing_slots() {
        recorder.add_slots(sys::map_slots(count)?);
    }
    Ok(())
}
