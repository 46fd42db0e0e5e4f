//! Archives that are still written: a session's stream, or a file that grows.

mod completeness;
mod file;
mod flusher;
mod stream;
mod threads;

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use trace_format::{notes, Decoder, Item, ReadError, Record, Value};

use crate::input::open_complete;
use completeness::Completeness;
pub(crate) use file::{partial_path, GrowingFile};
use flusher::Flusher;
use stream::Stream;
pub(crate) use threads::Threads;

/// Bytes that are read at once.
const BLOCK: usize = 256 << 10;

/// An archive that is still written.
pub(crate) struct Source {
    input: Input,
    block: Vec<u8>,
    completeness: Completeness,
    /// Whether the stream has ended within a record, with the process that records the session.
    is_cut: bool,
}

enum Input {
    Stream(Box<Stream>),
    File(GrowingFile, Option<Box<Flusher>>),
    Complete(Box<dyn Read>),
}

/// The result of reading from a [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// More records may follow.
    Open,
    /// The session has ended, or the file is complete.
    Ended,
}

impl Source {
    /// Opens the file `input`, or a stream of the session of this name. The stream has events of
    /// these categories. A file does not hide a session of its name.
    pub(crate) fn open(input: &str, categories: &[String], socket: Option<&Path>) -> Result<Self> {
        let path = Path::new(input);
        let input = match is_path(path) {
            true => open_file(path, socket)?,
            false => match Stream::open(input, categories, socket).map(Box::new) {
                Err(_) if path.is_file() => open_file(path, socket)?,
                stream => Input::Stream(stream?),
            },
        };
        let completeness = Completeness::default();
        Ok(Self { input, block: vec![0; BLOCK], completeness, is_cut: false })
    }

    /// Calls `visit` with each record that was received. Returns the last error, unless it is the
    /// end of a stream with the process that records the session.
    pub(crate) fn drain(
        &mut self,
        decoder: &mut Decoder,
        mut visit: impl FnMut(&Item<'_>) -> Result<()>,
    ) -> Result<Option<ReadError>> {
        let error = drain(decoder, |item| {
            self.completeness.note(item);
            visit(item)
        })?;
        if let (Some(ReadError::Truncated { .. }), Input::Stream(stream)) =
            (&error, &mut self.input)
        {
            self.is_cut = stream.is_gone();
        }
        Ok(error.filter(|_| !self.is_cut))
    }

    /// Returns a message if records are missing at the end of a session's stream. Files may be of
    /// other programs.
    pub(crate) fn early_end(&mut self) -> Option<String> {
        let Input::Stream(stream) = &mut self.input else { return None };
        let programs = self.completeness.present();
        (self.is_cut || programs > 0).then(|| stream.early_end(programs))
    }

    /// Feeds the next bytes to the decoder. Waits for them for at most `timeout`.
    pub(crate) fn read(&mut self, decoder: &mut Decoder, timeout: Duration) -> io::Result<State> {
        let read = match &mut self.input {
            Input::Stream(stream) => {
                let timeout = timeout.max(Duration::from_millis(1));
                stream.socket.set_read_timeout(Some(timeout))?;
                stream.socket.read(&mut self.block)
            }
            Input::File(file, flusher) => {
                match read_flushed(file, flusher, &mut self.block, timeout)? {
                    None => Ok(0),
                    // Further providers may join while the archive is partial.
                    Some(0) if !file.is_partial() && self.completeness.is_complete() => Ok(0),
                    Some(0) => return Ok(State::Open),
                    Some(read) => Ok(read),
                }
            }
            Input::Complete(archive) => archive.read(&mut self.block),
        };
        match read {
            Ok(0) => {
                decoder.finish();
                Ok(State::Ended)
            }
            Ok(read) => {
                decoder.feed(self.block.get(..read).unwrap_or_default());
                Ok(State::Open)
            }
            Err(error) if is_timeout(&error) => Ok(State::Open),
            Err(error) => Err(error),
        }
    }
}

/// Reads a file whose session is flushed.
fn read_flushed(
    file: &mut GrowingFile,
    flusher: &mut Option<Box<Flusher>>,
    block: &mut [u8],
    timeout: Duration,
) -> io::Result<Option<usize>> {
    if let Some(flusher) = flusher {
        flusher.flush();
    }
    file.read(block, timeout)
}

fn open_file(path: &Path, socket: Option<&Path>) -> Result<Input> {
    let failed = || format!("cannot open {}", path.display());
    let file = GrowingFile::open(path).with_context(failed)?;
    let complete = match path.is_file() && !file.is_partial() {
        true => open_complete(path)?,
        false => None,
    };
    let flusher = match file.is_partial() {
        true => Some(Box::new(Flusher::new(path, socket).with_context(failed)?)),
        false => None,
    };
    Ok(complete.map_or(Input::File(file, flusher), Input::Complete))
}

/// Returns whether an argument can only be a path, and not the name of a session.
fn is_path(path: &Path) -> bool {
    let has_file_name = path.extension().is_some_and(|extension| extension == "fxt");
    has_file_name || path.components().count() > 1
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// Calls `visit` with each record that was received. Returns the last error.
pub(crate) fn drain(
    decoder: &mut Decoder,
    mut visit: impl FnMut(&Item<'_>) -> Result<()>,
) -> Result<Option<ReadError>> {
    let mut last = None;
    loop {
        match decoder.next() {
            Ok(Some(item)) => visit(&item)?,
            Ok(None) => return Ok(last),
            Err(error) if error.is_fatal() => return Ok(Some(error)),
            Err(error) => last = Some(error),
        }
    }
}

/// Returns the number of dropped records that an event reports.
pub(crate) fn dropped(item: &Item<'_>) -> Option<u64> {
    let Record::Event(event) = &item.record else { return None };
    let is_note = item.text(event.category) == notes::CATEGORY
        && item.text(event.name) == notes::RECORDS_DROPPED;
    let number = |value: Value<'_>| value.unsigned();
    let named = event.arguments.iter().find(|argument| item.text(argument.name) == "number");
    named.filter(|_| is_note).and_then(|argument| number(argument.value))
}

#[cfg(test)]
mod tests {
    use super::completeness::tests::complete_archive;
    use super::*;

    /// Reads all records that the file has. Returns whether it ends then.
    fn ends(source: &mut Source, decoder: &mut Decoder) -> bool {
        for _ in 0..4 {
            if source.read(decoder, Duration::ZERO).unwrap() == State::Ended {
                return true;
            }
            assert!(source.drain(decoder, |_| Ok(())).unwrap().is_none());
        }
        false
    }

    /// Its present providers have left, but the next program may join.
    #[test]
    fn a_partial_archive_ends_only_when_it_gets_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let (path, partial) =
            (directory.path().join("a.fxt"), directory.path().join(".a.fxt.partial"));
        std::fs::write(&partial, complete_archive()).unwrap();
        let mut source = Source::open(path.to_str().unwrap(), &[], None).unwrap();
        let mut decoder = Decoder::default();
        assert!(!ends(&mut source, &mut decoder));
        std::fs::rename(&partial, &path).unwrap();
        assert!(ends(&mut source, &mut decoder));
    }

    #[test]
    fn a_file_with_its_name_ends_when_all_providers_have_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.fxt");
        std::fs::write(&path, complete_archive()).unwrap();
        let mut source = Source::open(path.to_str().unwrap(), &[], None).unwrap();
        assert!(ends(&mut source, &mut Decoder::default()));
    }

    #[test]
    fn a_file_does_not_hide_a_session() {
        assert!(!["src", "Cargo.toml", "web", ""].map(Path::new).into_iter().any(is_path));
        assert!(["out.fxt", "./web", "/tmp/web"].map(Path::new).into_iter().all(is_path));
    }
}
