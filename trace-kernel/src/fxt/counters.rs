//! Counters: the frequencies of CPUs and the memory of processes.

use foldhash::HashMap;
use trace_format::{Argument, EventKind, ThreadKoids, Value, WriteError};

use super::instants::{event, write_event};
use super::labels::Label;
use super::sink::RecordSink;

/// The most address spaces whose process is remembered.
const MAX_SPACES: usize = 1 << 16;

/// The processes of address spaces. Events of other threads, such as those that reclaim memory,
/// have only the number of the space.
#[derive(Debug, Default)]
pub(super) struct Spaces(HashMap<u64, ThreadKoids>);

impl Spaces {
    /// Notes the thread that has an address space. Returns the first thread of its process.
    pub(super) fn note(&mut self, space: u64, koids: ThreadKoids) -> Option<ThreadKoids> {
        if koids.process == 0 {
            return None;
        }
        let process = ThreadKoids::new(koids.process, koids.process);
        if self.0.len() >= MAX_SPACES {
            self.0.clear();
        }
        self.0.insert(space, process);
        Some(process)
    }

    /// Forgets the address space of a process, which ends or executes another program. The kernel
    /// may give its number to the next space.
    pub(super) fn forget(&mut self, process: u64) {
        self.0.retain(|_, koids| koids.process != process);
    }

    /// Returns the first thread of the process that has an address space, if it is known.
    pub(super) fn process(&self, space: u64) -> Option<ThreadKoids> {
        self.0.get(&space).copied()
    }
}

/// Writes the memory of a process.
pub(super) fn write_memory<S: RecordSink>(
    writer: &mut S,
    (ticks, process): (u64, ThreadKoids),
    (kind, bytes): (&str, i64),
) -> Result<(), WriteError> {
    let label = match kind {
        "MM_FILEPAGES" => Label::FileMemory,
        "MM_ANONPAGES" => Label::AnonymousMemory,
        "MM_SWAPENTS" => Label::SwappedMemory,
        "MM_SHMEMPAGES" => Label::SharedMemory,
        _ => return Ok(()),
    };
    let labels = (Label::Memory, Label::ResidentMemory);
    write(writer, (ticks, process), labels, process.process, (label, Value::Int64(bytes)))
}

/// Writes the frequency of a CPU.
pub(super) fn write_frequency<S: RecordSink>(
    writer: &mut S,
    (ticks, place): (u64, ThreadKoids),
    (cpu, khz): (u16, u64),
) -> Result<(), WriteError> {
    let labels = (Label::Power, Label::Frequency);
    let value = (Label::Kilohertz, Value::Uint64(khz));
    write(writer, (ticks, place), labels, u64::from(cpu) + 1, value)
}

fn write<S: RecordSink>(
    writer: &mut S,
    place: (u64, ThreadKoids),
    (category, name): (Label, Label),
    id: u64,
    (label, value): (Label, Value<'_>),
) -> Result<(), WriteError> {
    let Some(category) = writer.category(category) else { return Ok(()) };
    let labels = (category, writer.label(name));
    let arguments = [Argument::new(writer.label(label), value)];
    let (ticks, thread) = place;
    write_event(writer, event(ticks, thread, labels, EventKind::Counter { id }, &arguments))
}
