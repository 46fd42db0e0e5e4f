//! In whose name a record speaks: the process is the one that the kernel names, whatever the
//! record says, and records of other processes and of the manager are refused.

use trace_format::decode;
use trace_format::layout::{
    argument, event, kernel_object, large, large_blob, log, profiler, record, thread,
    userspace_object, ArgumentType, LargeBlobFormat, ObjectType, RecordType, StringRef,
};
use trace_format::notes::{CATEGORY, RESERVED};
use trace_format::record::{Event, KernelObject, Record, Text, Value};

use crate::buffer::producer::CHUNK_THREAD;
use crate::words::as_bytes;

use super::stats::Rejection;

/// Who a provider is.
#[derive(Clone, Debug)]
pub(super) struct Ownership {
    /// Its process, as the kernel says.
    process: u64,
    /// Its process, as the thread record of its last chunk said: another number in another pid
    /// namespace.
    claimed: u64,
}

/// What a record lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    Nothing,
    /// The argument that says of which process a thread is; see [`Ownership::process_argument`].
    Process,
}

/// Where the strings with an index are.
type Strings = [Option<Box<str>>];

impl Ownership {
    pub(super) fn new(process: u64) -> Self {
        Self { process, claimed: process }
    }

    /// Puts the provider's process into a well-formed record that names one. Returns what the
    /// record lacks.
    ///
    /// # Errors
    /// For a record that only another process or the manager may write.
    pub(super) fn claim(
        &mut self,
        record: &mut [u64],
        strings: &Strings,
    ) -> Result<Lack, Rejection> {
        let Some(&header) = record.first() else { return Ok(Lack::Nothing) };
        match RecordType::from_bits(record::Type::get(header)) {
            Some(RecordType::Thread) => self.own_thread(record),
            Some(RecordType::Event) => self.own_event(record, strings)?,
            Some(RecordType::KernelObject) => return self.own_object(record, strings),
            Some(RecordType::Log) if log::ThreadRef::get(header) == 0 => self.set(record, 2),
            Some(RecordType::Profiler) if profiler::ThreadRef::get(header) == 0 => {
                self.set(record, 2);
            }
            Some(RecordType::UserspaceObject) if userspace_object::ProcessRef::get(header) == 0 => {
                self.set(record, 2);
            }
            Some(RecordType::Large) => self.own_large(record),
            _ => {}
        }
        Ok(Lack::Nothing)
    }

    /// An argument `process` that names the provider's process.
    pub(super) fn process_argument(&self) -> [u64; PROCESS_ARGUMENT] {
        let name = StringRef::inline(PROCESS.len());
        let header = argument::Type::make(ArgumentType::Koid.bits())
            | argument::Size::make(PROCESS_ARGUMENT as u64)
            | argument::NameRef::make(u64::from(name.bits()));
        [header, u64::from_le_bytes(*b"process\0"), self.process]
    }

    fn own_thread(&mut self, record: &mut [u64]) {
        let index = record.first().map_or(0, |header| thread::Index::get(*header));
        if index == u64::from(CHUNK_THREAD.bits()) {
            self.claimed = record.get(1).copied().unwrap_or(self.process);
        }
        self.set(record, 1);
    }

    fn own_event(&self, record: &mut [u64], strings: &Strings) -> Result<(), Rejection> {
        let Some(&header) = record.first() else { return Ok(()) };
        if event::ThreadRef::get(header) == 0 {
            self.set(record, 2);
        }
        match may_be_reserved(header, strings) && is_reserved(record, strings) {
            true => Err(Rejection::Reserved),
            false => Ok(()),
        }
    }

    /// A process names itself and its threads, not others.
    fn own_object(&self, record: &mut [u64], strings: &Strings) -> Result<Lack, Rejection> {
        let Ok(Record::KernelObject(object)) = decode::record(as_bytes(record)) else {
            return Ok(Lack::Nothing);
        };
        match object.object_type {
            ObjectType::PROCESS if self.is_own_process(&object, strings) => self.set(record, 1),
            ObjectType::PROCESS => return Err(Rejection::Foreign),
            ObjectType::THREAD if names_a_process(&object, strings) => self.own_koids(record),
            ObjectType::THREAD => return Ok(Lack::Process),
            _ => {}
        }
        Ok(Lack::Nothing)
    }

    /// Whether an object is the provider's process. Its user is the kernel's to say.
    fn is_own_process(&self, object: &KernelObject<'_>, strings: &Strings) -> bool {
        let mut names = object.arguments.iter().map(|argument| argument.name);
        [0, self.process, self.claimed].contains(&object.koid)
            && !names.any(|name| text(name, strings) == Some(b"uid"))
    }

    /// The koid argument of a thread object is its process.
    fn own_koids(&self, record: &mut [u64]) {
        let name = record.first().map_or(0, |header| kernel_object::NameRef::get(*header));
        let mut at = 2 + inline_words(name);
        while let Some(&header) = record.get(at) {
            let size = (argument::Size::get(header) as usize).max(1);
            if argument::Type::get(header) == ArgumentType::Koid.bits() {
                self.set(record, at + size - 1);
            }
            at += size;
        }
    }

    /// The thread of a large blob with metadata is behind its strings and its timestamp.
    fn own_large(&self, record: &mut [u64]) {
        let [header, refs, ..] = *record else { return };
        let is_event = large::BlobFormat::get(header) == LargeBlobFormat::Event.bits();
        if is_event && large_blob::ThreadRef::get(refs) == 0 {
            let strings = inline_words(large_blob::CategoryRef::get(refs))
                + inline_words(large_blob::NameRef::get(refs));
            self.set(record, 3 + strings);
        }
    }

    fn set(&self, record: &mut [u64], index: usize) {
        if let Some(word) = record.get_mut(index) {
            *word = self.process;
        }
    }
}

/// Words of [`Ownership::process_argument`].
pub(super) const PROCESS_ARGUMENT: usize = 3;

/// The name of the argument that says of which process a thread is.
const PROCESS: &str = "process";

/// Whether a thread object says that it is of a process, which is then the provider's. A thread
/// that is of no process would name those of all.
fn names_a_process(object: &KernelObject<'_>, strings: &Strings) -> bool {
    object.arguments.iter().any(|argument| {
        matches!(argument.value, Value::Koid(_))
            && text(argument.name, strings) == Some(PROCESS.as_bytes())
    })
}

/// Whether an event's name may be one of [`RESERVED`], by its header alone: for most events
/// that is all.
#[inline]
fn may_be_reserved(header: u64, strings: &Strings) -> bool {
    let name = StringRef::from_bits(event::NameRef::get(header) as u16);
    let length = match name.index() {
        Some(index) => strings.get(usize::from(index)).and_then(|name| Some(name.as_ref()?.len())),
        None => name.inline_bytes(),
    };
    length.is_some_and(|length| RESERVED.iter().any(|name| name.len() == length))
}

/// Whether an event is one that only the manager writes.
fn is_reserved(record: &[u64], strings: &Strings) -> bool {
    let Ok(Record::Event(Event { category, name, .. })) = decode::record(as_bytes(record)) else {
        return false;
    };
    let name = text(name, strings);
    RESERVED.iter().any(|reserved| name == Some(reserved.as_bytes()))
        && text(category, strings) == Some(CATEGORY.as_bytes())
}

fn text<'a>(text: Text<'a>, strings: &'a Strings) -> Option<&'a [u8]> {
    match text {
        Text::Inline(bytes) => Some(bytes),
        Text::Indexed(index) => Some(strings.get(usize::from(index))?.as_ref()?.as_bytes()),
    }
}

fn inline_words(bits: u64) -> usize {
    StringRef::from_bits(bits as u16).inline_bytes().unwrap_or(0).div_ceil(8)
}
