//! A reader of one archive.
#![forbid(unsafe_code)]

use std::error::Error;
use std::ffi::CString;
use std::fmt::{self, Debug, Formatter};
use std::io::Read;
use std::panic::{catch_unwind, AssertUnwindSafe};

use trace_format::audit::Audit;
use trace_format::{ReadError, Reader};

use crate::abi;
use crate::convert::Store;

/// Bytes of an archive, from anywhere.
pub(crate) type Input = Box<dyn Read + Send>;

/// The result of [`ArchiveReader::next`]: `enum trace_reader_result`.
pub(crate) enum Next {
    End,
    Record,
    Error,
}

/// `trace_reader`: a reader, and the last record and error that it returned to C.
pub struct ArchiveReader {
    reader: Reader<Input>,
    audit: Audit,
    store: Store,
    provider: Provider,
    record: Option<abi::Record>,
    error: Option<Failure>,
    /// Whether the archive has ended.
    ended: bool,
}

/// The provider of the last record.
struct Provider {
    exported: abi::Provider,
    /// The name that `exported` points to.
    name: CString,
}

/// The error of the last call.
struct Failure {
    exported: abi::Error,
    /// The text that `exported` points to.
    _message: CString,
}

impl Debug for ArchiveReader {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveReader")
            .field("reader", &self.reader.offset())
            .finish_non_exhaustive()
    }
}

impl ArchiveReader {
    pub(crate) fn new(input: Input) -> Self {
        Self {
            reader: Reader::new(input),
            audit: Audit::default(),
            store: Store::default(),
            provider: Provider::new(),
            record: None,
            error: None,
            ended: false,
        }
    }

    /// Reads the next record. A panic becomes an error that ends the archive.
    pub(crate) fn next(&mut self) -> Next {
        self.store.clear();
        (self.record, self.error) = (None, None);
        if self.ended {
            return Next::End;
        }
        let offset = self.reader.offset();
        catch_unwind(AssertUnwindSafe(|| self.read())).unwrap_or_else(|_panic| {
            self.fail(OTHER, true, offset, "the reader failed: this is an error in it".to_owned())
        })
    }

    pub(crate) fn record(&self) -> Option<&abi::Record> {
        self.record.as_ref()
    }

    pub(crate) fn error(&self) -> Option<&abi::Error> {
        self.error.as_ref().map(|failure| &failure.exported)
    }

    pub(crate) fn stats(&self) -> abi::Stats {
        let stats = self.reader.stats();
        abi::Stats {
            records: stats.records,
            unknown_records: stats.unknown_records,
            bad_records: stats.bad_records,
            unknown_string_refs: self.audit.unknown_strings,
            unknown_thread_refs: self.audit.unknown_threads,
        }
    }

    fn read(&mut self) -> Next {
        let error = match self.reader.next() {
            Ok(None) => return Next::End,
            Ok(Some(item)) => {
                self.audit.item(&item);
                self.provider.turn_to(item.provider);
                self.record = Some(self.store.record(&item, &raw const self.provider.exported));
                return Next::Record;
            }
            Err(error) => error,
        };
        let (code, offset) = code(&error);
        self.fail(code, error.is_fatal(), offset, in_words(&error))
    }

    fn fail(&mut self, code: u32, is_fatal: bool, offset: u64, message: String) -> Next {
        let message = without_zeros(&message);
        let exported = abi::Error { code, is_fatal, offset, message: message.as_ptr() };
        self.error = Some(Failure { exported, _message: message });
        self.ended = is_fatal;
        Next::Error
    }
}

impl Provider {
    fn new() -> Self {
        let exported =
            abi::Provider { is_known: false, id: 0, name: abi::Text::EMPTY, ticks_per_second: 0 };
        Self { exported, name: CString::default() }
    }

    fn turn_to(&mut self, provider: &trace_format::Provider) {
        let (id, name) = (provider.id(), provider.name());
        if self.name.as_bytes() != name.as_bytes() {
            self.name = without_zeros(name);
        }
        self.exported = abi::Provider {
            is_known: id.is_some(),
            id: id.unwrap_or(0),
            name: abi::Text { data: self.name.as_ptr(), size: self.name.as_bytes().len() },
            ticks_per_second: provider.tick_rate().ticks_per_second(),
        };
    }
}

/// Returns a text that ends with a zero. A zero within it, which C would take for the end, becomes
/// U+FFFD.
fn without_zeros(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Returns the error and its causes.
fn in_words(error: &ReadError) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    words
}

/// The value of `enum trace_reader_code` for all other errors.
const OTHER: u32 = 8;

/// Returns the code of an error, and the offset of its record.
fn code(error: &ReadError) -> (u32, u64) {
    match error {
        ReadError::Io { offset, .. } => (1, *offset),
        ReadError::NotAnArchive { .. } => (2, 0),
        ReadError::Record { offset, .. } => (3, *offset),
        ReadError::RecordTooLarge { offset, .. } => (4, *offset),
        ReadError::Truncated { offset, .. } => (5, *offset),
        ReadError::SizeZero { offset } => (6, *offset),
        ReadError::TooManyProviders { offset, .. } => (7, *offset),
        _ => (OTHER, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;

    impl Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            panic!("a test of panics")
        }
    }

    #[test]
    fn a_panic_is_an_error_that_ends_the_archive() {
        let mut reader = ArchiveReader::new(Box::new(Panics));
        assert!(matches!(reader.next(), Next::Error));
        let error = reader.error().unwrap();
        assert_eq!((error.code, error.is_fatal), (OTHER, true));
        assert!(matches!(reader.next(), Next::End));
        assert!(reader.error().is_none());
    }
}
