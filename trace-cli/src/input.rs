//! Opening archives, and what to say of files that are none.

mod again;

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{anyhow, bail, Context, Result};
use trace_format::{ReadError, Reader};
use trace_protocol::buffer::saved::buffer_path;

use crate::compression::decompress;
use crate::progress::Watched;
pub(crate) use again::{copy_to, no_room, Again};

/// The path that stands for standard input or output.
pub(crate) const STANDARD: &str = "-";

/// So much of a file is looked at to tell what it is; JSON may start with white
/// space.
const START_BYTES: u64 = 4096;

/// Opens an archive, `-` for standard input, compressed or not. On a terminal
/// long reading is shown.
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

/// Opens an archive or a document, and tells whether it is a document, JSON,
/// by its start.
pub(crate) fn open_any(path: &Path) -> Result<(bool, Box<dyn Read>)> {
    let mut input = open_bytes(path, |file| Box::new(Watched::new(file)))?;
    let mut start = Vec::new();
    let read = input.by_ref().take(START_BYTES).read_to_end(&mut start);
    read.with_context(|| format!("cannot read '{}'", path.display()))?;
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
    let is_json = matches!(text.trim_ascii_start(), [b'{' | b'[', ..]);
    Ok((is_json, Box::new(io::Cursor::new(start).chain(input))))
}

fn open_with(
    path: &Path,
    watched: impl FnOnce(File) -> Box<dyn Read>,
) -> Result<Reader<Box<dyn Read>>> {
    open_bytes(path, watched).map(Reader::new)
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
        error => anyhow::Error::new(error).context(format!("cannot read '{name}'")),
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
        [b'{' | b'[', ..] => "; it looks like JSON, of which `trace convert` makes an archive",
        _ => "; give a file that `trace record` has written",
    };
    let found: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{EXPECTED}, found {}{advice}", found.join(" "))
}
