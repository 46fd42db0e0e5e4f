//! In whose name a record speaks. For an application, the process is the one that the kernel names,
//! whatever the record says, and records of other processes are refused. Nobody writes the records
//! of the manager.

use trace_format::decode;
use trace_format::layout::{
    argument, event, kernel_object, large, large_blob, log, profiler, record, thread,
    userspace_object, ArgumentType, LargeBlobFormat, ObjectType, RecordType, StringRef,
};
use trace_format::notes::{CATEGORY, RESERVED, SYMBOLS};
use trace_format::record::{Event, KernelObject, Record, Text, Value};

use crate::buffer::producer::CHUNK_THREAD;
use crate::words::as_bytes;

use super::stats::Rejection;

/// About whom a provider may write records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityPolicy {
    /// About its own process, which is this one, as the kernel numbers it. For applications.
    Own(u64),
    /// About all processes and processors: its records keep the koids that are in them, and
    /// scheduling records pass. Only for a provider that is trusted, never by its own word.
    Machine,
}

/// Who a provider is.
#[derive(Clone, Debug)]
pub(super) struct Ownership {
    policy: IdentityPolicy,
    /// Its process, as the thread record of its last chunk said: another number in another pid
    /// namespace.
    claimed: u64,
}

/// What a record lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    Nothing,
    /// The argument that says that a thread is of this process; see [`process_argument`].
    Process(u64),
}

/// Where the strings with an index are.
type Strings = [Option<Box<str>>];

impl Ownership {
    pub(super) fn new(policy: IdentityPolicy) -> Self {
        Self { policy, claimed: 0 }
    }

    /// Whether the provider may write a record with this header, well-formed or not.
    pub(super) fn admits(&self, header: u64) -> bool {
        self.policy == IdentityPolicy::Machine
            || record::Type::get(header) != RecordType::Scheduling.bits()
    }

    /// Puts an application's process into a well-formed record that names one. Returns what the
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
        let kind = RecordType::from_bits(record::Type::get(header));
        match kind {
            Some(RecordType::Event) => refuse_reserved(record, strings)?,
            Some(RecordType::Blob) => refuse_symbols(record, strings)?,
            _ => {}
        }
        match self.policy {
            IdentityPolicy::Own(process) => self.own(process, kind, record, strings),
            IdentityPolicy::Machine => Ok(Lack::Nothing),
        }
    }

    /// Puts the process into an application's record.
    fn own(
        &mut self,
        process: u64,
        kind: Option<RecordType>,
        record: &mut [u64],
        strings: &Strings,
    ) -> Result<Lack, Rejection> {
        let header = record.first().copied().unwrap_or(0);
        match kind {
            Some(RecordType::KernelObject) => return self.own_object(process, record, strings),
            Some(RecordType::Thread) => self.own_thread(process, record),
            Some(RecordType::Large) => own_large(process, record),
            Some(RecordType::Event) if event::ThreadRef::get(header) == 0 => {
                set(record, 2, process)
            }
            Some(RecordType::Log) if log::ThreadRef::get(header) == 0 => set(record, 2, process),
            Some(RecordType::Profiler) if profiler::ThreadRef::get(header) == 0 => {
                set(record, 2, process);
            }
            Some(RecordType::UserspaceObject) if userspace_object::ProcessRef::get(header) == 0 => {
                set(record, 2, process);
            }
            _ => {}
        }
        Ok(Lack::Nothing)
    }

    fn own_thread(&mut self, process: u64, record: &mut [u64]) {
        let index = record.first().map_or(0, |header| thread::Index::get(*header));
        if index == u64::from(CHUNK_THREAD.bits()) {
            self.claimed = record.get(1).copied().unwrap_or(process);
        }
        set(record, 1, process);
    }

    /// A process names itself and its threads, not others.
    fn own_object(
        &self,
        process: u64,
        record: &mut [u64],
        strings: &Strings,
    ) -> Result<Lack, Rejection> {
        let Ok(Record::KernelObject(object)) = decode::record(as_bytes(record)) else {
            return Ok(Lack::Nothing);
        };
        let is_own = [0, process, self.claimed].contains(&object.koid);
        match object.object_type {
            // Its user is the kernel's to say.
            ObjectType::PROCESS if is_own && !names_a_user(&object, strings) => {
                set(record, 1, process);
            }
            ObjectType::PROCESS => return Err(Rejection::Foreign),
            ObjectType::THREAD if names_a_process(&object, strings) => own_koids(process, record),
            ObjectType::THREAD => return Ok(Lack::Process(process)),
            _ => {}
        }
        Ok(Lack::Nothing)
    }
}

/// The koid argument of a thread object is its process.
fn own_koids(process: u64, record: &mut [u64]) {
    let name = record.first().map_or(0, |header| kernel_object::NameRef::get(*header));
    let mut at = 2 + inline_words(name);
    while let Some(&header) = record.get(at) {
        let size = (argument::Size::get(header) as usize).max(1);
        if argument::Type::get(header) == ArgumentType::Koid.bits() {
            set(record, at + size - 1, process);
        }
        at += size;
    }
}

/// The thread of a large blob with metadata is behind its strings and its timestamp.
fn own_large(process: u64, record: &mut [u64]) {
    let [header, refs, ..] = *record else { return };
    let is_event = large::BlobFormat::get(header) == LargeBlobFormat::Event.bits();
    if is_event && large_blob::ThreadRef::get(refs) == 0 {
        let strings = inline_words(large_blob::CategoryRef::get(refs))
            + inline_words(large_blob::NameRef::get(refs));
        set(record, 3 + strings, process);
    }
}

fn set(record: &mut [u64], index: usize, process: u64) {
    if let Some(word) = record.get_mut(index) {
        *word = process;
    }
}

/// Refuses an event that only the manager writes.
fn refuse_reserved(record: &[u64], strings: &Strings) -> Result<(), Rejection> {
    let header = record.first().copied().unwrap_or(0);
    match may_be_reserved(header, strings) && is_reserved(record, strings) {
        true => Err(Rejection::Reserved),
        false => Ok(()),
    }
}

/// Refuses names of functions: they are about the programs and libraries of all processes.
fn refuse_symbols(record: &[u64], strings: &Strings) -> Result<(), Rejection> {
    match decode::record(as_bytes(record)) {
        Ok(Record::Blob(blob)) if text(blob.name, strings) == Some(SYMBOLS.as_bytes()) => {
            Err(Rejection::Reserved)
        }
        _ => Ok(()),
    }
}

/// Returns an argument `process` that names the process.
pub(super) fn process_argument(process: u64) -> [u64; PROCESS_ARGUMENT] {
    let name = StringRef::inline(PROCESS.len());
    let header = argument::Type::make(ArgumentType::Koid.bits())
        | argument::Size::make(PROCESS_ARGUMENT as u64)
        | argument::NameRef::make(u64::from(name.bits()));
    [header, u64::from_le_bytes(*b"process\0"), process]
}

/// Words of [`process_argument`].
pub(super) const PROCESS_ARGUMENT: usize = 3;

/// The name of the argument that says of which process a thread is.
const PROCESS: &str = "process";

/// Whether a process object says whose it is.
fn names_a_user(object: &KernelObject<'_>, strings: &Strings) -> bool {
    object.arguments.iter().any(|argument| text(argument.name, strings) == Some(b"uid"))
}

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
