//! Records of objects, and log records.

use std::fmt;

use trace_format::layout::{
    event, kernel_object, log as log_record, record, userspace_object, ObjectType, RecordType,
    MAX_RECORD_WORDS,
};
use trace_protocol::buffer::producer::CHUNK_THREAD;
use trace_protocol::clock::ticks;

use super::arguments::Arguments;
use super::record::{write, Inline, Texts};
use super::site::{Key, Switch};
use crate::value::formatted::Formatted;
use crate::value::Limit;

/// The object that a record names.
#[derive(Clone, Copy, Debug)]
pub enum Object {
    /// An object of this process, by its address.
    Userspace(u64),
    /// A kernel object, by its type and id.
    Kernel(ObjectType, u64),
}

impl Object {
    /// Returns its fields of the header, and the word after the header.
    fn words(self) -> [u64; 2] {
        match self {
            Self::Userspace(pointer) => [
                record::Type::make(RecordType::UserspaceObject.bits())
                    | userspace_object::ProcessRef::make(u64::from(CHUNK_THREAD.bits())),
                pointer,
            ],
            Self::Kernel(object_type, koid) => [
                record::Type::make(RecordType::KernelObject.bits())
                    | kernel_object::ObjectType::make(object_type.bits()),
                koid,
            ],
        }
    }

    /// Returns the header fields of its name ref and its number of arguments.
    fn fields(self, name: u64, arguments: u64) -> u64 {
        match self {
            Self::Userspace(_) => {
                userspace_object::NameRef::make(name)
                    | userspace_object::ArgumentCount::make(arguments)
            }
            Self::Kernel(..) => {
                kernel_object::NameRef::make(name) | kernel_object::ArgumentCount::make(arguments)
            }
        }
    }
}

/// Writes the name and the arguments of an object.
#[inline(never)]
pub fn object<A: Arguments>(
    site: &impl Switch,
    keys: &[Key],
    object: Object,
    names: impl Texts,
    arguments: A,
) {
    const FIXED: usize = 2;
    let [_, name] = names.texts().map(Inline::new);
    let size = |limit| FIXED + name.words() + arguments.words(limit);
    let limit = if size(Limit::LONG) <= MAX_RECORD_WORDS { Limit::LONG } else { Limit::SHORT };
    write(site, size(limit), |header, fill| {
        let [own, word] = object.words();
        fill.word(word);
        name.encode(fill);
        arguments.encode(keys, fill.take(arguments.words(limit)), limit);
        let name = name.bits(event::NameRef::get(header));
        own | record::Size::make(size(limit) as u64) | object.fields(name, arguments.count() as u64)
    });
}

/// Writes a log record. Up to 32,000 bytes of the message are recorded.
#[inline(never)]
pub fn log(site: &impl Switch, message: fmt::Arguments<'_>) {
    match message.as_str() {
        Some(text) => log_text(site, text),
        // Formatted before a record is reserved, because this runs code of the application.
        None => log_text(site, Formatted::new(message).as_str()),
    }
}

/// Writes a log record with a text.
#[inline(never)]
pub(crate) fn log_text(site: &impl Switch, text: &str) {
    let text = Limit::LONG.cut_and_count(text);
    let words = 2 + text.len().div_ceil(8);
    write(site, words, |_, fill| {
        fill.word(ticks());
        fill.bytes(text.as_bytes());
        record::Type::make(RecordType::Log.bits())
            | record::Size::make(words as u64)
            | log_record::MessageLength::make(text.len() as u64)
            | log_record::ThreadRef::make(u64::from(CHUNK_THREAD.bits()))
    });
}
