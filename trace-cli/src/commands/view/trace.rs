//! The served trace, in the format in which Perfetto shows most.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use trace_convert::{perfetto, ConvertError, Symbols};
use trace_format::Reader;

use crate::cli::Selection;
use crate::commands::convert;
use crate::input::{copy_to, temporary_file_error, InputKind};
use crate::{exit, input, unreadable};

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
    let input = input::open_any(path)?;
    let content = tempfile::tempfile().with_context(temporary_file_error)?;
    let (mut code, mut ending) = (exit::OK, ".pftrace");
    match input.kind {
        Some(InputKind::Json) => {
            ending = ".json";
            copy_to(path, input.bytes, &content, temporary_file_error)?;
        }
        Some(InputKind::Perfetto) => copy_to(path, input.bytes, &content, temporary_file_error)?,
        _ => code = convert(path, input.into_reader(path, false)?, &content)?,
    }
    Ok((Trace { content, name: name(path, ending) }, code))
}

fn convert(path: &Path, reader: Reader<impl Read>, content: &File) -> Result<u8> {
    let conversion = match perfetto::write_with_symbols(reader, Symbols::default(), content) {
        Err(ConvertError::Write(error)) => return Err(error).with_context(temporary_file_error),
        written => unreadable::explained(path, written)?,
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
