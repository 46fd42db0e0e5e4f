//! Formats that can be read as archives.
//!
//! Every analysis reads FXT. An [`InputFormat`] opens another format as a stream of FXT. It makes
//! records while they are read: memory does not grow with the input, and there is no temporary
//! file. A format implements [`Importer`] and opens it with [`imported`]. The example `importer.rs`
//! imports a made-up format.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use trace_format::decode;
use trace_format::layout::MAGIC_WORD;
use trace_format::{WriteError, Writer};

/// The bytes of FXT that are made at once.
const PART_BYTES: usize = 64 << 10;

/// A format that can be read as an archive.
pub trait InputFormat {
    /// Returns its name.
    fn name(&self) -> &'static str;

    /// Returns whether a file has this format, by its first bytes.
    fn detects(&self, start: &[u8]) -> bool;

    /// Opens an input of this format as a stream of FXT.
    ///
    /// # Errors
    ///
    /// Reading failed.
    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>>;
}

/// The Fuchsia trace format itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fxt;

impl InputFormat for Fxt {
    fn name(&self) -> &'static str {
        "FXT"
    }

    fn detects(&self, start: &[u8]) -> bool {
        let magic = [MAGIC_WORD.to_le_bytes(), MAGIC_WORD.to_be_bytes()];
        magic.iter().any(|magic| start.starts_with(magic)) || decode::is_first_record(start)
    }

    fn open<'a>(&self, input: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
        Ok(input)
    }
}

/// Converts another format to records, in parts.
pub trait Importer {
    /// Writes the records of the next part of the input, if it has any. Returns `false` at the end
    /// of the input.
    ///
    /// # Errors
    ///
    /// Reading failed, or the input is malformed.
    fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool>;
}

/// Returns the archive that an importer makes.
///
/// # Errors
///
/// None today: the archive is in memory.
pub fn imported<'a>(importer: impl Importer + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let archive = Writer::new(Vec::new()).map_err(into_io)?;
    Ok(Box::new(Imported { importer, archive, at: 0, end: None }))
}

/// Returns an error of a [`Writer`] as one of an [`Importer`].
#[must_use]
pub fn into_io(error: WriteError) -> io::Error {
    match error {
        WriteError::Io(error) => error,
        error => io::Error::other(error),
    }
}

/// Copies an input to a temporary file, for formats that are not read in one pass. Returns the file
/// at its start.
///
/// # Errors
///
/// Reading failed, or writing the temporary file. Only errors of the latter name a temporary file.
pub fn temporary_copy(mut input: impl Read) -> io::Result<File> {
    let mut file = TemporaryFile(tempfile::tempfile().map_err(temporary_file_error)?);
    io::copy(&mut input, &mut file)?;
    file.0.rewind().map_err(temporary_file_error)?;
    Ok(file.0)
}

/// A temporary file, whose errors differ from those of the input.
struct TemporaryFile(File);

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(temporary_file_error)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(temporary_file_error)
    }
}

/// Returns an error of a temporary file with the place of temporary files and a hint.
#[must_use]
pub fn temporary_file_error(error: io::Error) -> io::Error {
    let place = std::env::temp_dir();
    let text = format!(
        "a temporary file in {}: {error}\nhint: set TMPDIR to another directory",
        place.display()
    );
    io::Error::new(error.kind(), text)
}

/// An archive that is made while it is read.
struct Imported<I> {
    importer: I,
    archive: Writer<Vec<u8>>,
    /// The number of bytes of `archive` that were read.
    at: usize,
    /// The result after these bytes, once the importer has ended.
    end: Option<io::Result<usize>>,
}

impl<I: Importer> Imported<I> {
    /// Makes the next bytes.
    fn fill(&mut self) {
        self.archive.output_mut().clear();
        self.at = 0;
        while self.end.is_none() && self.archive.output_mut().len() < PART_BYTES {
            match self.importer.import(&mut self.archive) {
                Ok(true) => {}
                Ok(false) => self.end = Some(Ok(0)),
                Err(error) => self.end = Some(Err(error)),
            }
        }
    }
}

impl<I: Importer> Read for Imported<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.archive.output_mut().len() {
            if let Some(end) = &mut self.end {
                return std::mem::replace(end, Ok(0));
            }
            self.fill();
        }
        let count = self.archive.output_mut().get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += count;
        match count {
            0 if !buffer.is_empty() => self.read(buffer),
            count => Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{ReadError, Reader};

    use super::*;
    use crate::testing::event;

    /// Makes this number of events, then fails if the second field is set.
    struct Events(u64, bool);

    impl Importer for Events {
        fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool> {
            if self.0 == 0 {
                return if self.1 { Err(io::Error::other("malformed")) } else { Ok(false) };
            }
            self.0 -= 1;
            archive.record(&event(trace_format::EventKind::DurationBegin, &[])).map_err(into_io)?;
            Ok(true)
        }
    }

    fn read(importer: Events) -> (u64, Option<ReadError>) {
        let mut reader = Reader::new(imported(importer).unwrap());
        loop {
            match reader.next() {
                Ok(Some(_)) => {}
                Ok(None) => return (reader.stats().records, None),
                Err(error) => return (reader.stats().records, Some(error)),
            }
        }
    }

    #[test]
    fn a_temporary_copy_is_read_from_its_start() {
        let mut text = String::new();
        temporary_copy(&b"a log"[..]).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "a log");
    }

    #[test]
    fn an_error_of_the_input_does_not_name_a_temporary_file() {
        let error = temporary_copy(Imported {
            importer: Events(0, true),
            archive: Writer::new(Vec::new()).unwrap(),
            at: 0,
            end: None,
        });
        assert_eq!(error.unwrap_err().to_string(), "malformed");
    }

    #[test]
    fn records_are_read_while_they_are_made() {
        for number in [0, 1, 10_000] {
            // The magic number, and the tables if there is an event.
            let tables = 1 + 3 * u64::from(number > 0);
            assert!(
                matches!(read(Events(number, false)), (records, None) if records == number + tables)
            );
            let (records, error) = read(Events(number, true));
            assert_eq!(records, number + tables, "records before an error are read");
            assert!(matches!(error, Some(ReadError::Io { .. })));
        }
    }
}
