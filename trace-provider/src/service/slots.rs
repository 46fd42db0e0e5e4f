//! Slots for the threads that write records.

use std::io;

use trace_protocol::buffer::producer::Recorder;

use crate::generation::Generation;
use crate::sys;

/// Makes a recorder ready: with slots, and epochs that its process has not inherited.
///
/// # Errors
/// As for [`add_slots`], if there is no slot at all.
pub(crate) fn prepare(recorder: &'static Recorder, membarrier: bool) -> io::Result<()> {
    if !recorder.is_provided() {
        recorder.provide(Generation::current().number(), membarrier);
    }
    match add_slots(recorder) {
        Err(error) if recorder.has_no_slots() => Err(error),
        _ => Ok(()),
    }
}

/// Maps slots for more threads ahead of need: a traced thread makes no system call for its slot.
///
/// # Errors
/// What mmap says, as where the process locks its memory and has reached the limit. Threads without
/// a slot then lose their records.
pub(crate) fn add_slots(recorder: &Recorder) -> io::Result<()> {
    while let Some(count) = recorder.slots_wanted() {
        recorder.add_slots(sys::map_slots(count)?);
    }
    Ok(())
}
