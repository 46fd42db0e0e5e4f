//! Changes of the words of an encoded record in place.
//!
//! A record consists of words (numbers) and streams (bytes of strings and blobs). [`change`] visits
//! the words. It converts records of big-endian machines, and replaces times and koids without
//! changes to the rest of the record, known or unknown.

use crate::layout::{
    argument, blob, context_switch, event, kernel_object, large, large_blob, legacy_context_switch,
    log, metadata, profiler, profiler_module, provider_info, record, scheduling, string,
    thread_wakeup, userspace_object, words_for_bytes, ArgumentType, EventType, LargeBlobFormat,
    LargeType, MetadataType, ProfilerType, RecordType, SchedulingType, StringRef, ThreadRef,
    WORD_BYTES,
};

/// The meaning of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A time, in ticks.
    Ticks,
    /// The koid of a process, a thread or another kernel object.
    Koid,
    /// A header, another number, or a word of a record or argument of an unknown type.
    Other,
}

/// Replaces each word of `record`, the bytes of one record, by the word that `change` returns.
///
/// The new words determine the sizes of streams. If a field does not fit, the record is malformed,
/// and the words after the field are unchanged.
pub fn change(record: &mut [u8], mut change: impl FnMut(Word, u64) -> u64) {
    let mut walk = Walk { rest: record, change: &mut change };
    let fits = walk.word(Word::Other).and_then(|header| walk.body(header));
    if fits.is_some() {
        walk.others();
    }
}

/// The part of a record that is not visited yet. Methods return `None` if the record ends before
/// the field.
struct Walk<'r, 'f> {
    rest: &'r mut [u8],
    change: &'f mut dyn FnMut(Word, u64) -> u64,
}

impl<'r> Walk<'r, '_> {
    /// Visits the next word, and returns the new word.
    fn word(&mut self, meaning: Word) -> Option<u64> {
        let (word, rest) = core::mem::take(&mut self.rest).split_first_chunk_mut()?;
        self.rest = rest;
        let changed = (self.change)(meaning, u64::from_le_bytes(*word));
        *word = changed.to_le_bytes();
        Some(changed)
    }

    /// Takes the next `bytes` bytes.
    fn bytes(&mut self, bytes: usize) -> Option<&'r mut [u8]> {
        let (taken, rest) = core::mem::take(&mut self.rest).split_at_mut_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    /// Skips a stream and its padding.
    fn stream(&mut self, bytes: u64) -> Option<()> {
        let words = words_for_bytes(usize::try_from(bytes).ok()?);
        self.bytes(words.checked_mul(WORD_BYTES)?).map(drop)
    }

    /// Skips the inline string of a string ref, which is in the low 16 bits of `bits`.
    fn text(&mut self, bits: u64) -> Option<()> {
        match StringRef::from_bits(bits as u16).inline_bytes() {
            Some(bytes) => self.stream(bytes as u64),
            None => Some(()),
        }
    }

    /// Visits the `count` inline koids of a thread ref, which is in the low 8 bits of `bits`.
    fn koids(&mut self, bits: u64, count: usize) -> Option<()> {
        match ThreadRef::from_bits(bits as u8).is_inline() {
            true => (0..count).try_for_each(|_| self.word(Word::Koid).map(drop)),
            false => Some(()),
        }
    }

    /// Visits the remaining words.
    fn others(&mut self) {
        while self.word(Word::Other).is_some() {}
    }

    fn arguments(&mut self, count: u64) -> Option<()> {
        (0..count).try_for_each(|_| self.argument())
    }

    fn argument(&mut self) -> Option<()> {
        let header = self.word(Word::Other)?;
        let words = usize::try_from(argument::Size::get(header)).ok()?.checked_sub(1)?;
        let rest = self.bytes(words * WORD_BYTES)?;
        let mut content = Walk { rest, change: &mut *self.change };
        content.text(argument::NameRef::get(header))?;
        match ArgumentType::from_bits(argument::Type::get(header)) {
            Some(ArgumentType::String) => content.text(argument::ValueRef::get(header))?,
            Some(ArgumentType::Blob) => content.stream(argument::BlobLength::get(header))?,
            Some(ArgumentType::Koid) => content.word(Word::Koid).map(drop)?,
            _ => {}
        }
        content.others();
        Some(())
    }

    /// Visits the fields after the header, up to the last one that is not an `Other` word.
    fn body(&mut self, header: u64) -> Option<()> {
        let Some(record_type) = RecordType::from_bits(record::Type::get(header)) else {
            return Some(());
        };
        match record_type {
            RecordType::Metadata => self.metadata(header),
            RecordType::Initialization => Some(()),
            RecordType::String => self.stream(string::Length::get(header)),
            RecordType::Thread => self.koids(ThreadRef::INLINE.bits().into(), 2),
            RecordType::Event => self.event(header),
            RecordType::Blob => {
                self.text(blob::NameRef::get(header))?;
                self.stream(blob::PayloadLength::get(header))
            }
            RecordType::UserspaceObject => {
                self.word(Word::Other)?;
                self.koids(userspace_object::ProcessRef::get(header), 1)?;
                self.text(userspace_object::NameRef::get(header))?;
                self.arguments(userspace_object::ArgumentCount::get(header))
            }
            RecordType::KernelObject => {
                self.word(Word::Koid)?;
                self.text(kernel_object::NameRef::get(header))?;
                self.arguments(kernel_object::ArgumentCount::get(header))
            }
            RecordType::Scheduling => self.scheduling(header),
            RecordType::Log => {
                self.word(Word::Ticks)?;
                self.koids(log::ThreadRef::get(header), 2)?;
                self.stream(log::MessageLength::get(header))
            }
            RecordType::Profiler => self.profiler(header),
            RecordType::Large => self.large(header),
        }
    }

    fn metadata(&mut self, header: u64) -> Option<()> {
        match MetadataType::from_bits(metadata::Type::get(header)) {
            Some(MetadataType::ProviderInfo) => self.stream(provider_info::NameLength::get(header)),
            _ => Some(()),
        }
    }

    fn event(&mut self, header: u64) -> Option<()> {
        self.word(Word::Ticks)?;
        self.koids(event::ThreadRef::get(header), 2)?;
        self.text(event::CategoryRef::get(header))?;
        self.text(event::NameRef::get(header))?;
        self.arguments(event::ArgumentCount::get(header))?;
        match EventType::from_bits(event::EventType::get(header)) {
            Some(EventType::DurationComplete) => self.word(Word::Ticks).map(drop),
            _ => Some(()),
        }
    }

    fn scheduling(&mut self, header: u64) -> Option<()> {
        let (koids, arguments) = match SchedulingType::from_bits(scheduling::Type::get(header)) {
            Some(SchedulingType::LegacyContextSwitch) => {
                self.word(Word::Ticks)?;
                self.koids(legacy_context_switch::OutgoingThreadRef::get(header), 2)?;
                return self.koids(legacy_context_switch::IncomingThreadRef::get(header), 2);
            }
            Some(SchedulingType::ContextSwitch) => (2, context_switch::ArgumentCount::get(header)),
            Some(SchedulingType::ThreadWakeup) => (1, thread_wakeup::ArgumentCount::get(header)),
            None => return Some(()),
        };
        self.word(Word::Ticks)?;
        self.koids(ThreadRef::INLINE.bits().into(), koids)?;
        self.arguments(arguments)
    }

    fn profiler(&mut self, header: u64) -> Option<()> {
        let Some(profiler_type) = ProfilerType::from_bits(profiler::Type::get(header)) else {
            return Some(());
        };
        let thread_ref = profiler::ThreadRef::get(header);
        self.word(Word::Ticks)?;
        match profiler_type {
            ProfilerType::Module => self.module(header, thread_ref),
            ProfilerType::Mmap => self.koids(thread_ref, 1),
            ProfilerType::Backtrace => self.koids(thread_ref, 2),
        }
    }

    /// Some writers put a thread koid after the process koid. If there are more words than the
    /// streams need, the first one is that koid.
    fn module(&mut self, header: u64, thread_ref: u64) -> Option<()> {
        let name = profiler_module::NameLength::get(header);
        let build_id = profiler_module::BuildIdLength::get(header);
        let streams = words_for_bytes(name as usize) + words_for_bytes(build_id as usize);
        self.koids(thread_ref, 1)?;
        if self.rest.len() > streams * WORD_BYTES {
            self.koids(thread_ref, 1)?;
        }
        self.stream(name)?;
        self.stream(build_id)
    }

    fn large(&mut self, header: u64) -> Option<()> {
        let format = LargeBlobFormat::from_bits(large::BlobFormat::get(header));
        let (Some(LargeType::Blob), Some(format)) =
            (LargeType::from_bits(large::Type::get(header)), format)
        else {
            return Some(());
        };
        let word = self.word(Word::Other)?;
        self.text(large_blob::CategoryRef::get(word))?;
        self.text(large_blob::NameRef::get(word))?;
        if format == LargeBlobFormat::Event {
            self.word(Word::Ticks)?;
            self.koids(large_blob::ThreadRef::get(word), 2)?;
            self.arguments(large_blob::ArgumentCount::get(word))?;
        }
        let bytes = self.word(Word::Other)?;
        self.stream(bytes)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::Word::{Koid, Other, Ticks};
    use super::*;
    use crate::encode::to_bytes;

    fn meanings(words: &[u64]) -> Vec<Word> {
        let (mut bytes, mut meanings) = (to_bytes(words), Vec::new());
        change(&mut bytes, |meaning, word| {
            meanings.push(meaning);
            word
        });
        meanings
    }

    #[test]
    fn a_module_can_have_a_thread_word() {
        const ABC: u64 = 0x0063_6261;
        let without = [0x0020_3010_2000_005a, 0x64, 0x10, ABC, 0x0201];
        assert_eq!(meanings(&without), [Other, Ticks, Koid]);
        let with = [0x0020_3010_2000_006a, 0x64, 0x10, 0, ABC, 0x0201];
        assert_eq!(meanings(&with), [Other, Ticks, Koid, Koid]);
        let indexed_and_appended = [0x0020_3010_2050_005a, 0x64, ABC, 0x0201, 9];
        assert_eq!(meanings(&indexed_and_appended), [Other, Ticks, Other]);
    }
}
