//! Opening archives and inputs of other formats, and errors for files that are none.

mod spill;

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{anyhow, bail, Context, Result};
use trace_analyze::input::{Fxt, InputFormat};
use trace_convert::ftrace::Ftrace;
use trace_convert::tef::{self, JsonError};
use trace_format::{ReadError, Reader};
use trace_protocol::buffer::saved::buffer_path;

use crate::compression::decompress;
use crate::progress::Watched;
pub(crate) use spill::{copy_to, no_room, Spill};

/// The path that stands for standard input or output.
pub(crate) const STANDARD: &str = "-";

/// How much of a file is looked at to detect its format, in bytes.
const START_BYTES: u64 = 4096;

/// Opens an input as an archive, `-` for standard input, compressed or not. On a
/// terminal long reading is shown.
pub(crate) fn open(path: &Path) -> Result<Reader<Box<dyn Read>>> {
    open_with(path, |file| Box::new(Watched::new(file)))
}

/// The same for what prints while it reads: that is not to be between the
/// lines.
pub(crate) fn open_to_print(path: &Path) -> Result<Reader<Box<dyn Read>>> {
    match io::stdout().is_terminal() {
        true => open_with(path, |file| Box::new(file)),
        false => open(path),
    }
}

/// Opens an input and detects its format.
pub(crate) fn open_any(path: &Path) -> Result<Input> {
    Input::new(path, |file| Box::new(Watched::new(file)))
}

fn open_with(
    path: &Path,
    watched: impl FnOnce(File) -> Box<dyn Read>,
) -> Result<Reader<Box<dyn Read>>> {
    Input::new(path, watched)?.into_reader(path, false)
}

/// An input, decompressed, with its format.
pub(crate) struct Input {
    /// `None` if no format is known that starts like this.
    pub(crate) kind: Option<InputKind>,
    pub(crate) bytes: Box<dyn Read>,
}

impl Input {
    fn new(path: &Path, watched: impl FnOnce(File) -> Box<dyn Read>) -> Result<Self> {
        let mut input = open_bytes(path, watched)?;
        let mut start = Vec::new();
        let read = input.by_ref().take(START_BYTES).read_to_end(&mut start);
        read.with_context(|| format!("cannot read '{}'", path.display()))?;
        let kind = InputKind::detect(&start);
        Ok(Self { kind, bytes: Box::new(io::Cursor::new(start).chain(input)) })
    }

    /// Reads it as an archive; of JSON with events left out that cannot be read, if `lenient`.
    pub(crate) fn into_reader(self, path: &Path, lenient: bool) -> Result<Reader<Box<dyn Read>>> {
        let format = self.kind.unwrap_or(InputKind::Fxt).format(lenient);
        let archive = format.open(self.bytes);
        let archive = archive.with_context(|| format!("cannot read '{}'", path.display()))?;
        Ok(Reader::new(archive))
    }
}

/// The formats that every command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    Fxt,
    Json,
    Ftrace,
}

impl InputKind {
    const ALL: [Self; 3] = [Self::Fxt, Self::Json, Self::Ftrace];

    fn detect(start: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.format(false).detects(start))
    }

    pub(crate) fn format(self, lenient: bool) -> Box<dyn InputFormat> {
        match self {
            Self::Fxt => Box::new(Fxt),
            Self::Json => Box::new(tef::Document { lenient }),
            Self::Ftrace => Box::new(Ftrace),
        }
    }
}

fn open_bytes(path: &Path, watched: impl FnOnce(File) -> Box<dyn Read>) -> Result<Box<dyn Read>> {
    if path == Path::new(STANDARD) {
        let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let input = input.and_then(|input| decompress(watched(input)));
        return input.context("cannot read standard input");
    }
    let name = path.display();
    let file =
        File::open(path).with_context(|| format!("cannot open '{name}'{}", left_behind(path)))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("'{name}' is a directory: expected an archive, as `trace record` writes it");
    }
    decompress(watched(file)).with_context(|| format!("cannot read '{name}'"))
}

/// Tells whether what is read at `path` can be read again.
pub(crate) fn is_file(path: &Path) -> bool {
    path != Path::new(STANDARD) && path.is_file()
}

/// What to do if there is no archive yet, but what a killed program left of it.
fn left_behind(path: &Path) -> String {
    match buffer_path(path).exists() {
        true => {
            format!(", but its program left what `trace recover {}` makes it of", path.display())
        }
        false => String::new(),
    }
}

/// Returns what to tell the user when `path` cannot be read as an archive.
pub(crate) fn explain(path: &Path, error: ReadError) -> anyhow::Error {
    let name = path.display();
    match error {
        ReadError::NotAnArchive { first_word } => {
            anyhow!("'{name}' is no trace archive: {}", what_it_is(first_word))
        }
        ReadError::BigEndian => anyhow!(
            "'{name}' was written on a big-endian machine: expected a little-endian archive; \
             convert it where it was recorded"
        ),
        error => match json_error(&error) {
            Some(error) => anyhow!(
                "cannot read '{name}' as JSON: {error}; \
                 trace convert --lenient leaves out what cannot be read"
            ),
            None => anyhow::Error::new(error).context(format!("cannot read '{name}'")),
        },
    }
}

/// Returns why a document could not be imported.
fn json_error(error: &ReadError) -> Option<&JsonError> {
    match error {
        ReadError::Io { error, .. } => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Says what a file starts with, what was expected, and what to do.
fn what_it_is(first_word: Option<u64>) -> String {
    const EXPECTED: &str = "expected the bytes 10 00 04 46 78 54 16 00 at its start";
    let Some(word) = first_word else {
        return format!("it has less than 8 bytes; {EXPECTED}");
    };
    let bytes = word.to_le_bytes();
    let advice = match bytes {
        [0x1f, 0x8b, ..] => "; it is compressed twice, unpack it with gzip -d",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "; it is compressed twice, unpack it with zstd -d",
        _ => "; give a file that `trace record` has written",
    };
    let found: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{EXPECTED}, found {}{advice}", found.join(" "))
}
