//! Opening archives, and messages about files that are not archives.

mod again;

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{anyhow, bail, Context, Result};
use trace_format::{ReadError, Reader};
use trace_protocol::buffer::saved::buffer_path;

use crate::compression::decompress;
use crate::message::HINT;
use crate::progress::Watched;
pub(crate) use again::{copy_to, no_room, Again};

/// The path that stands for standard input or output.
pub(crate) const STANDARD: &str = "-";

/// Bytes that are read to detect the format; JSON may start with white space.
const START_BYTES: u64 = 4096;

/// Opens an archive, `-` for standard input, compressed or not. A terminal shows
/// the progress of a large one.
pub(crate) fn open(path: &Path) -> Result<Reader<Box<dyn Read>>> {
    open_with(path, |file| Box::new(Watched::new(file)))
}

/// The same for commands that print while they read: no progress between lines.
pub(crate) fn open_to_print(path: &Path) -> Result<Reader<Box<dyn Read>>> {
    match io::stdout().is_terminal() {
        true => open_with(path, |file| Box::new(file)),
        false => open(path),
    }
}

/// Opens an archive or JSON, and returns whether it is JSON, by its start.
pub(crate) fn open_any(path: &Path) -> Result<(bool, Box<dyn Read>)> {
    let mut input = open_bytes(path, |file| Box::new(Watched::new(file)))?;
    let mut start = Vec::new();
    let read = input.by_ref().take(START_BYTES).read_to_end(&mut start);
    read.with_context(|| format!("cannot read {}", path.display()))?;
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
        File::open(path).with_context(|| format!("cannot open {name}{}", recover_hint(path)))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("cannot read {name}: is a directory");
    }
    decompress(watched(file)).with_context(|| format!("cannot read {name}"))
}

/// Returns whether the input at `path` can be read twice.
pub(crate) fn is_file(path: &Path) -> bool {
    path != Path::new(STANDARD) && path.is_file()
}

/// Returns a hint if the archive does not exist yet, but a killed program's buffer does.
fn recover_hint(path: &Path) -> String {
    match buffer_path(path).exists() {
        true => {
            format!("{HINT}the program was killed: run `trace recover {}` first", path.display())
        }
        false => String::new(),
    }
}

/// Returns the message for a file that cannot be read as an archive.
pub(crate) fn explain(path: &Path, error: ReadError) -> anyhow::Error {
    let name = path.display();
    match error {
        ReadError::NotAnArchive { first_word } => {
            anyhow!("cannot read {name}: not a trace archive{HINT}{}", what_it_is(first_word))
        }
        ReadError::BigEndian => anyhow!(
            "cannot read {name}: big-endian archives are not supported{HINT}convert it on the machine \
             that recorded it"
        ),
        error => anyhow::Error::new(error).context(format!("cannot read {name}")),
    }
}

/// Returns a hint on how to get an archive from a file that starts like this.
fn what_it_is(first_word: Option<u64>) -> &'static str {
    match first_word.map(u64::to_le_bytes) {
        None => "an archive has at least 8 bytes",
        Some([0x1f, 0x8b, ..]) => "it is compressed twice: unpack it with gzip -d",
        Some([0x28, 0xb5, 0x2f, 0xfd, ..]) => "it is compressed twice: unpack it with zstd -d",
        Some([b'{' | b'[', ..]) => "it looks like JSON: `trace convert` makes an archive of it",
        Some(_) => "archives start with the bytes 10 00 04 46 78 54 16 00",
    }
}
