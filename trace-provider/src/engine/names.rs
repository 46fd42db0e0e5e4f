//! The names of threads: kernel object records with a thread's koid, name and process.
//!
//! Reading a thread's name takes a system call, so no trace point does it. The service thread
//! reads the names of recording threads periodically. A thread that ends earlier writes its own
//! name when it ends.

use trace_format::encode::{self, EncodeError, WordSink};
use trace_format::layout::ObjectType;
use trace_format::record::{Argument, KernelObject, Record, Text, Value};
use trace_protocol::buffer::producer::Slot;

use crate::engine::Engine;
use crate::sys;

/// Appends the record that names a thread of this process, or a track.
///
/// # Errors
/// If the name is too long for a record.
pub fn thread_object(
    engine: &Engine,
    words: &mut impl WordSink,
    koid: u64,
    name: &str,
) -> Result<(), EncodeError> {
    let process = Value::Koid(u64::from(std::process::id()));
    let key = engine.process_key().index().map_or(Text::EMPTY, Text::Indexed);
    let arguments = [Argument::new(key, process)];
    let object = KernelObject {
        object_type: ObjectType::THREAD,
        koid,
        name: name.into(),
        arguments: (&arguments).into(),
    };
    encode::append(words, &Record::from(object))
}

/// Returns the name of a thread of this process, if the thread exists.
pub(crate) fn of_living_thread(thread: u32) -> Option<String> {
    let name = std::fs::read(format!("/proc/self/task/{thread}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

/// Writes the calling thread's name to its own chunk, if it is not recorded yet. Called when the
/// thread ends.
///
/// Does not allocate: the record is built on the stack.
pub fn write_own_name(engine: &Engine, slot: &Slot) {
    // The name comes by a system call.
    if slot.is_named() || !engine.recorder.is_recording() || engine.is_silent() {
        return;
    }
    let name = sys::own_thread_name();
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    let Some(text) = name.get(..length).and_then(|name| std::str::from_utf8(name).ok()) else {
        return;
    };
    let mut record = StackBuffer::default();
    if thread_object(engine, &mut record, slot.thread().into(), text).is_ok() {
        slot.write(engine.recorder, record.words());
        slot.set_named(slot.thread());
    }
}

/// A buffer on the stack for the record of a thread with the longest name, which has 15 bytes.
#[derive(Default)]
struct StackBuffer {
    words: [u64; 6],
    used: usize,
}

impl StackBuffer {
    fn words(&self) -> &[u64] {
        self.words.get(..self.used).unwrap_or(&[])
    }
}

impl WordSink for StackBuffer {
    fn reserve(&mut self, words: usize) -> Option<&mut [u64]> {
        let reserved = self.words.get_mut(self.used..)?.get_mut(..words)?;
        self.used += words;
        Some(reserved)
    }
}
