//! Registration of strings and threads in the tables of a provider.

use super::interner::Interner;
use crate::encode::{self, EncodeError};
use crate::layout::{ThreadKoids, MAX_STRING_INDEX, MAX_THREAD_INDEX};
use crate::record::{Argument, Arguments, Record, Text, Thread, Value};

/// The longest string, in bytes, that is registered in any case. Longer ones are hardly ever
/// repeated, and are registered only if the record is too long otherwise.
pub(super) const MAX_INTERNED_BYTES: usize = 256;

/// The tables of one provider.
#[derive(Debug)]
pub(super) struct Tables {
    strings: Interner<Box<[u8]>>,
    threads: Interner<ThreadKoids>,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            // The last index is that of unknown strings and threads.
            strings: Interner::new(MAX_STRING_INDEX - 1),
            threads: Interner::new(u16::from(MAX_THREAD_INDEX) - 1),
        }
    }
}

/// Replaces strings and threads of a record by indices.
#[derive(Debug)]
pub(super) struct Registrar<'t> {
    pub(super) tables: &'t mut Tables,
    /// The words to which new string and thread records are appended.
    pub(super) words: &'t mut Vec<u64>,
    /// The longest string that is registered, in bytes.
    pub(super) max_bytes: usize,
}

impl Registrar<'_> {
    /// Returns `record` with indices instead of inline threads and strings. `list` is the space for
    /// its arguments.
    pub(super) fn record<'a>(
        &mut self,
        mut record: Record<'a>,
        list: &'a mut [Argument<'a>],
    ) -> Result<Record<'a>, EncodeError> {
        match &mut record {
            Record::Event(event) => {
                self.thread(&mut event.thread)?;
                self.text(&mut event.category)?;
                self.text(&mut event.name)?;
            }
            Record::Blob(blob) => self.text(&mut blob.name)?,
            Record::LegacyContextSwitch(switch) => {
                self.thread(&mut switch.outgoing)?;
                self.thread(&mut switch.incoming)?;
            }
            Record::Log(log) => self.thread(&mut log.thread)?,
            Record::Backtrace(backtrace) => self.thread(&mut backtrace.thread)?,
            Record::LargeBlob(blob) => {
                self.text(&mut blob.category)?;
                self.text(&mut blob.name)?;
                if let Some(event) = &mut blob.event {
                    self.thread(&mut event.thread)?;
                }
            }
            _ => {}
        }
        if let Some(arguments) = record.arguments_mut() {
            *arguments = self.arguments(*arguments, list)?;
        }
        Ok(record)
    }

    fn arguments<'a>(
        &mut self,
        arguments: Arguments<'a>,
        list: &'a mut [Argument<'a>],
    ) -> Result<Arguments<'a>, EncodeError> {
        // Values are hardly ever repeated. They are registered only if the record is too long
        // otherwise.
        let with_values = self.max_bytes > MAX_INTERNED_BYTES;
        let mut count = 0;
        for (place, argument) in list.iter_mut().zip(&arguments) {
            *place = argument;
            self.text(&mut place.name)?;
            if let (true, Value::String(text)) = (with_values, &mut place.value) {
                self.text(text)?;
            }
            count += 1;
        }
        let list: &'a [Argument<'a>] = list;
        Ok(list.get(..count).unwrap_or_default().into())
    }

    fn text(&mut self, text: &mut Text<'_>) -> Result<(), EncodeError> {
        let Text::Inline(value) = *text else {
            return Ok(());
        };
        if value.is_empty() || value.len() > self.max_bytes {
            return Ok(());
        }
        let (index, is_new) = self.tables.strings.index_of(value);
        *text = Text::Indexed(index);
        if is_new {
            encode::append(self.words, &Record::String { index, value })?;
        }
        Ok(())
    }

    fn thread(&mut self, thread: &mut Thread) -> Result<(), EncodeError> {
        let Thread::Inline(koids) = *thread else {
            return Ok(());
        };
        let (index, is_new) = self.tables.threads.index_of(&koids);
        let index = u8::try_from(index).expect("the table has at most 255 entries");
        *thread = Thread::Indexed(index);
        if is_new {
            encode::append(self.words, &Record::Thread { index, koids })?;
        }
        Ok(())
    }
}
