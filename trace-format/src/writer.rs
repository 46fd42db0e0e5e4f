//! Writing of archives.
//!
//! A [`Writer`] takes records with inline strings and threads, and registers these in tables, which
//! it keeps for each provider.

mod error;
mod interner;
mod refs;
mod tables;

pub use error::WriteError;

use std::collections::HashMap;
use std::io::{self, Write};

use crate::encode::{self, EncodeError};
use crate::layout::{ProviderEvent, MAX_ARGUMENTS, MAX_STRING_BYTES};
use crate::record::{Argument, Metadata, Record, Text, Value};
use refs::first_index;
use tables::{Registrar, Tables, MAX_INTERNED_BYTES};

/// The number of arguments that most records do not exceed.
const FEW_ARGUMENTS: usize = 4;

/// Writes an archive to `W`.
///
/// Each record is passed to `W` with one call, after the strings and threads that it requires. Wrap
/// a file in a [`BufWriter`](io::BufWriter).
///
/// Categories, names, argument names and threads are registered in the tables of the current
/// provider. If a table is full, its oldest entry is replaced.
///
/// # Examples
///
/// ```
/// use trace_format::layout::InstantScope;
/// use trace_format::{Arguments, Event, EventKind, Thread, ThreadKoids, Writer};
///
/// let mut writer = Writer::new(Vec::new())?;
/// writer.provider(1, "server")?;
/// writer.initialization(24_000_000)?;
/// writer.record(&Event {
///     ticks: 48,
///     thread: Thread::Inline(ThreadKoids::new(12, 34)),
///     category: "net".into(),
///     name: "accept".into(),
///     kind: EventKind::Instant { scope: Some(InstantScope::Thread) },
///     arguments: Arguments::NONE,
/// }.into())?;
/// let archive: Vec<u8> = writer.into_inner();
/// # assert_eq!(archive.len() % 8, 0);
/// # Ok::<(), trace_format::WriteError>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    /// The provider of the current section, `None` before the first section.
    current: Option<u32>,
    /// The tables of the current provider.
    tables: Tables,
    /// The tables of all other providers.
    others: HashMap<Option<u32>, Tables>,
    words: Vec<u64>,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Returns a writer, and writes the magic number record.
    ///
    /// # Errors
    ///
    /// Fails if `output` does.
    pub fn new(output: W) -> Result<Self, WriteError> {
        let mut writer = Self {
            output,
            current: None,
            tables: Tables::default(),
            others: HashMap::new(),
            words: Vec::new(),
            bytes: Vec::new(),
        };
        writer.put(&Metadata::MagicNumber.into())?;
        Ok(writer)
    }

    /// Returns the output, for example to take the bytes written so far.
    pub fn output_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Writes a provider info record, and makes the provider the current one.
    ///
    /// The name is cut to 255 bytes.
    ///
    /// # Errors
    ///
    /// Fails if the output does.
    pub fn provider(&mut self, id: u32, name: &str) -> Result<(), WriteError> {
        self.switch_to(id);
        let name = name.as_bytes();
        self.put(&Metadata::ProviderInfo { id, name }.into())
    }

    /// Makes a provider the current one. Writes a provider section record if it is not already.
    ///
    /// # Errors
    ///
    /// Fails if the output does.
    pub fn section(&mut self, id: u32) -> Result<(), WriteError> {
        if self.current == Some(id) {
            return Ok(());
        }
        self.switch_to(id);
        self.put(&Metadata::ProviderSection { id }.into())
    }

    fn switch_to(&mut self, id: u32) {
        if self.current == Some(id) {
            return;
        }
        let tables = self.others.remove(&Some(id)).unwrap_or_default();
        let previous = std::mem::replace(&mut self.tables, tables);
        self.others.insert(self.current, previous);
        self.current = Some(id);
    }

    /// Writes an event of a provider, which need not be the current one.
    ///
    /// # Errors
    ///
    /// Fails if the output does.
    pub fn provider_event(&mut self, id: u32, event: ProviderEvent) -> Result<(), WriteError> {
        self.put(&Metadata::ProviderEvent { id, event }.into())
    }

    /// Writes the rate of the current provider's clock, which must not be 0.
    ///
    /// # Errors
    ///
    /// Fails if the output does.
    pub fn initialization(&mut self, ticks_per_second: u64) -> Result<(), WriteError> {
        self.put(&Record::Initialization { ticks_per_second })
    }

    /// Writes a record of the current provider.
    ///
    /// # Errors
    ///
    /// Fails if the output does, and if the record exceeds a limit of the format. Also fails for
    /// records with an index other than [`Text::UNKNOWN`] and that of
    /// [`Thread`](crate::record::Thread), for string and thread records, because only the writer
    /// assigns indices, and for metadata records, which have other methods.
    pub fn record(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        if let Some(index) = first_index(record) {
            return Err(EncodeError::Index { index }.into());
        }
        match record.arguments().iter().count() {
            // Clearing a list for all arguments takes longer than most records need.
            count if count <= FEW_ARGUMENTS => self.record_within::<FEW_ARGUMENTS>(record),
            count if count <= MAX_ARGUMENTS => self.record_within::<MAX_ARGUMENTS>(record),
            _ => Err(EncodeError::TooManyArguments.into()),
        }
    }

    /// Writes a record with at most `N` arguments.
    fn record_within<const N: usize>(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        let mut list = [Argument { name: Text::EMPTY, value: Value::Null }; N];
        let interned = self.registrar(MAX_INTERNED_BYTES).record(*record, &mut list)?;
        let mut encoded = encode::append(&mut self.words, &interned);
        if let Err(EncodeError::RecordTooLong { .. }) = encoded {
            let mut list = [Argument { name: Text::EMPTY, value: Value::Null }; N];
            let interned = self.registrar(MAX_STRING_BYTES).record(*record, &mut list)?;
            encoded = encode::append(&mut self.words, &interned);
        }
        // Even after an error, because the tables have the new strings and threads.
        self.write_out()?;
        Ok(encoded?)
    }

    fn registrar(&mut self, max_bytes: usize) -> Registrar<'_> {
        Registrar { tables: &mut self.tables, words: &mut self.words, max_bytes }
    }

    /// Flushes the output.
    ///
    /// # Errors
    ///
    /// Fails if the output does.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.output.flush()?)
    }

    /// Returns the output, which has all records: the writer does not buffer.
    #[must_use]
    pub fn into_inner(self) -> W {
        self.output
    }

    /// Writes a record without strings and threads.
    fn put(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        encode::append(&mut self.words, record)?;
        Ok(self.write_out()?)
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.bytes.clear();
        encode::append_bytes(&mut self.bytes, &self.words);
        self.words.clear();
        self.output.write_all(&self.bytes)
    }
}
