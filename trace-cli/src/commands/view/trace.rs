//! The served trace, in the format in which Perfetto shows most.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result};
use trace_convert::{perfetto, ConvertError, Symbols};
use trace_format::Reader;

use crate::cli::Selection;
use crate::commands::convert;
use crate::input::{copy_to, temporary_file_error, Input, InputKind};
use crate::{damage, exit, input};

/// The number of bytes that are read to detect Perfetto's format.
const START_BYTES: u64 = 4096;

/// The first byte of each packet in Perfetto's format: field 1 of the message `Trace`. Its length
/// follows.
const PACKET: u8 = 0x0a;

/// The served trace.
#[derive(Debug)]
pub(super) struct Trace {
    /// A file without a name: it disappears when this process ends.
    pub(super) content: File,
    /// The trace's name in the interface.
    pub(super) name: String,
}

/// Returns the trace to serve for a file, and the exit code.
///
/// An archive is converted to Perfetto's format, which can hold all of its data. Other formats that
/// Perfetto reads are only decompressed, unless some events are selected.
pub(super) fn prepare(path: &Path, selection: &Selection) -> Result<(Trace, u8)> {
    if selection.is_all() {
        return prepare_all(path);
    }
    let (reader, code) = input::open_selected(path, selection)?;
    let content = tempfile::tempfile().with_context(temporary_file_error)?;
    let code = code.max(convert(path, reader, &content)?);
    Ok((Trace { content, name: name(path, ".pftrace") }, code))
}

fn prepare_all(path: &Path) -> Result<(Trace, u8)> {
    let Input { kind, bytes: mut input, shift, has_notes } = input::open_any(path)?;
    let mut start = Vec::new();
    let read = input.by_ref().take(START_BYTES).read_to_end(&mut start);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let is_perfetto = is_perfetto(&start);
    let input = Cursor::new(start).chain(input);
    let is_json = kind == Some(InputKind::Json);
    let content = tempfile::tempfile().with_context(temporary_file_error)?;
    let (mut code, ending) = (exit::OK, if is_json { ".json" } else { ".pftrace" });
    match is_json || is_perfetto {
        true => copy_to(path, input, &content, temporary_file_error)?,
        false => {
            let input = Input { kind, bytes: Box::new(input), shift, has_notes };
            code = convert(path, input.into_reader(path, false)?, &content)?;
        }
    }
    Ok((Trace { content, name: name(path, ending) }, code))
}

/// Returns whether a file that starts like this is a sequence of Perfetto's packets.
fn is_perfetto(start: &[u8]) -> bool {
    let Some((&PACKET, rest)) = start.split_first() else {
        return false;
    };
    let Some(digits) = rest.iter().take(4).position(|byte| *byte < 0x80) else {
        return false;
    };
    let length = rest.iter().take(digits + 1).rev();
    let length = length.fold(0, |length, byte| length << 7 | usize::from(byte & 0x7f));
    let end = 1 + digits + 1 + length;
    match start.get(end) {
        Some(next) => *next == PACKET,
        None => end == start.len() || start.len() as u64 == START_BYTES,
    }
}

fn convert(path: &Path, reader: Reader<impl Read>, content: &File) -> Result<u8> {
    let conversion = match perfetto::write_with_symbols(reader, Symbols::default(), content) {
        Err(ConvertError::Write(error)) => return Err(error).with_context(temporary_file_error),
        written => damage::explained(path, written)?,
    };
    Ok(convert::summarize(path, &conversion))
}

/// Returns a file's name in the interface: its own name with the extension of the served format.
fn name(path: &Path, ending: &str) -> String {
    let name = match path == Path::new(input::STANDARD) {
        true => "trace".into(),
        false => path.file_name().unwrap_or_default().to_string_lossy(),
    };
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let name = url_safe(name.strip_suffix(ending).unwrap_or(name));
    format!("{name}{ending}")
}

/// Returns a name in which `_` replaces the characters that have a meaning in a URL.
fn url_safe(name: &str) -> String {
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    name.chars().map(|letter| if is_safe(letter) { letter } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_perfetto_are_detected_by_their_packets() {
        let mut two = vec![0x0a, 0x81, 0x01];
        two.extend([7; 0x81]);
        assert!(is_perfetto(&two), "one packet");
        two.extend([0x0a, 3, 1, 2, 3]);
        assert!(is_perfetto(&two), "two");
        let long: Vec<u8> = [0x0a, 0xff, 0x7f].into_iter().chain([0; 4093]).collect();
        assert!(is_perfetto(&long), "the start of a long one");
        assert!(!is_perfetto(&two[..100]), "cut");
        for other in
            [&b""[..], b"\n", b"\nhello, text", b"\x10\0\x04FxT\x16\0", b"\n\xff\xff\xff\xff\xff"]
        {
            assert!(!is_perfetto(other), "{other:?}");
        }
    }

    #[test]
    fn names_have_the_extension_of_the_served_format() {
        let name = |path: &str, ending| name(Path::new(path), ending);
        assert_eq!(name("d/app.fxt.gz", ".pftrace"), "app.fxt.pftrace");
        assert_eq!(name("app.json.zst", ".json"), "app.json");
        assert_eq!(name("app.pftrace", ".pftrace"), "app.pftrace");
        assert_eq!(name("index.html", ".json"), "index.html.json");
        assert_eq!(name("-", ".pftrace"), "trace.pftrace");
        assert_eq!(name("my trace#1?.fxt", ".pftrace"), "my_trace_1_.fxt.pftrace");
    }
}
