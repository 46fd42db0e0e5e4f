//! Opening archives and other formats, and errors for unknown formats.

mod koids;
mod near_file;
mod selected;
mod spill;
mod xray;

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{anyhow, bail, Context, Result};
use trace_analyze::input::{temporary_copy, InputFormat};
use trace_convert::tef;
use trace_format::Reader;
use trace_input::{decompress, json_shift, START_BYTES};
use trace_protocol::buffer::saved::buffer_path;
use trace_xray::fxt::{log_of_yaml, map_id, Fdr};
use trace_xray::map::Map;

use crate::log_damage::LogDamage;
use crate::logs;
use crate::message::{say, HINT};
use crate::progress::Watched;
pub(crate) use koids::{is_name, koids, refuse_missing, selected_threads};
use near_file::near_file;
pub(crate) use selected::{open_selected, SelectedThreads};
pub(crate) use spill::{copy_to, temporary_file_error, Spill};
pub(crate) use trace_input::InputKind;
pub(crate) use xray::{is_instr_map, use_instr_map};

/// The path for standard input or output.
pub(crate) const STANDARD: &str = "-";

/// Opens an input as an archive, `-` for standard input, compressed or not. A terminal shows
/// the progress of a large one.
pub(crate) fn open(path: &Path) -> Result<Reader<Box<dyn Read>>> {
    open_with(path, |file| Box::new(Watched::new(file)))
}

/// Opens an input like [`open`], but without a progress bar, which would mix with printed lines.
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

/// Opens a file that does not grow as an archive: one of another format, or a compressed one.
/// Returns `None` for an archive, which may grow, and for a file whose format is unknown.
pub(crate) fn open_complete(path: &Path) -> Result<Option<Box<dyn Read>>> {
    let mut start = Vec::new();
    let file = File::open(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    file.with_context(|| format!("cannot read {}", path.display()))?;
    if InputKind::detect(&start) == Some(InputKind::Fxt) {
        return Ok(None);
    }
    let input = Input::new(path, |file| Box::new(file))?;
    input.kind.is_some().then(|| input.into_archive(path, false)).transpose()
}

fn open_with(
    path: &Path,
    watched: impl FnOnce(File) -> Box<dyn Read>,
) -> Result<Reader<Box<dyn Read>>> {
    Input::new(path, watched)?.into_reader(path, false)
}

/// An input, decompressed, with its format.
pub(crate) struct Input {
    /// `None` if the format is unknown.
    pub(crate) kind: Option<InputKind>,
    pub(crate) bytes: Box<dyn Read>,
    /// By how many nanoseconds the times of JSON have to be later so that none is negative.
    pub(crate) shift: u64,
    /// Whether notes about the input are printed. A second pass prints none.
    pub(crate) has_notes: bool,
    /// The id of the own map of an XRay log.
    pub(crate) map_id: Option<u64>,
}

impl Input {
    fn new(path: &Path, watched: impl FnOnce(File) -> Box<dyn Read>) -> Result<Self> {
        let mut input = open_bytes(path, watched)?;
        let mut start = Vec::new();
        let read = input.by_ref().take(START_BYTES).read_to_end(&mut start);
        read.with_context(|| format!("cannot read {}", path.display()))?;
        let kind = InputKind::detect(&start);
        let map_id = map_id(&start).filter(|_| kind == Some(InputKind::Xray));
        let bytes = Box::new(io::Cursor::new(start).chain(input));
        match kind {
            Some(InputKind::Json) => Self::json(path, bytes),
            _ => Ok(Self { kind, bytes, shift: 0, has_notes: true, map_id }),
        }
    }

    /// Returns a document, at which a look is taken before it is read: times may be negative.
    fn json(path: &Path, bytes: Box<dyn Read>) -> Result<Self> {
        let kind = Some(InputKind::Json);
        if is_file(path) {
            let open = || open_bytes(path, |file| Box::new(file)).map_err(io::Error::other);
            let shift = json_shift(open);
            return Ok(Self { kind, bytes, shift, has_notes: true, map_id: None });
        }
        let copy = tempfile::tempfile().with_context(temporary_file_error)?;
        copy_to(path, bytes, &copy, temporary_file_error)?;
        let open = || copy.try_clone().and_then(|mut copy| copy.rewind().map(|()| copy));
        let shift = json_shift(open);
        let bytes = Box::new(open()?);
        Ok(Self { kind, bytes, shift, has_notes: true, map_id: None })
    }

    /// Returns a reader of the input as an archive. If `lenient`, skips malformed JSON events.
    pub(crate) fn into_reader(self, path: &Path, lenient: bool) -> Result<Reader<Box<dyn Read>>> {
        Ok(Reader::new(self.into_archive(path, lenient)?))
    }

    /// Returns whether it is an XRay log, in binary or as YAML.
    pub(crate) fn is_log(&self) -> bool {
        matches!(self.kind, Some(InputKind::Xray | InputKind::XrayYaml))
    }

    /// Returns a copy of an XRay log in a temporary file, and the names of its functions.
    pub(crate) fn into_log(self, path: &Path) -> Result<(File, Map)> {
        if self.kind == Some(InputKind::XrayYaml) {
            let log = log_of_yaml(self.bytes);
            let (log, own) = log.with_context(|| format!("cannot read {}", path.display()))?;
            return Ok((log, xray::names_of_yaml(own, self.has_notes)?));
        }
        let map = xray::names(path, self.has_notes, self.map_id)?;
        let mut copy = tempfile::tempfile().with_context(temporary_file_error)?;
        copy_to(path, self.bytes, &copy, temporary_file_error)?;
        copy.rewind().with_context(temporary_file_error)?;
        Ok((copy, map))
    }

    /// Returns the bytes of the input as an archive.
    pub(crate) fn into_archive(self, path: &Path, lenient: bool) -> Result<Box<dyn Read>> {
        let archive = match self.kind {
            Some(InputKind::Json) => {
                let report_omitted_backtraces =
                    self.has_notes.then_some(report_omitted_backtraces as fn(u64));
                let shift = self.shift;
                tef::Document { lenient, shift, report_omitted_backtraces }.open(self.bytes)
            }
            Some(InputKind::Xray) => {
                let map = xray::names(path, self.has_notes, self.map_id)?;
                let damage = LogDamage::noting(path);
                temporary_copy(self.bytes).and_then(|log| Fdr { map }.open_file_with(log, damage))
            }
            Some(InputKind::XrayYaml) => {
                let (log, map) = self.into_log(path)?;
                Fdr { map }.open_file_with(log, LogDamage::noting(path))
            }
            kind => match kind.unwrap_or(InputKind::Fxt).reader() {
                Some(format) => format.open(self.bytes),
                None => return Err(perfetto(path)),
            },
        };
        archive.with_context(|| format!("cannot read {}", path.display()))
    }
}

/// Returns the error for a trace of Perfetto.
fn perfetto(path: &Path) -> anyhow::Error {
    let name = path.display();
    anyhow!(
        "cannot read {name}: it is a trace of Perfetto, a format that is only written\
         {HINT}open it with trace view {name}, or read the archive that it was converted from"
    )
}

/// Prints how many stacks of a JSON document have no backtrace.
pub(crate) fn report_omitted_backtraces(number: u64) {
    say(&format!("stacks without a backtrace, because there are too many: {number}"));
}

fn open_bytes(path: &Path, watched: impl FnOnce(File) -> Box<dyn Read>) -> Result<Box<dyn Read>> {
    if path == Path::new(STANDARD) {
        let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let input = input.and_then(|input| decompress(watched(input)));
        return input.context("cannot read standard input");
    }
    let name = path.display();
    let file =
        File::open(path).with_context(|| format!("cannot open {name}{}", open_hint(path)))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("cannot read {name}: is a directory{}", logs::recover_hint(path));
    }
    decompress(watched(file)).with_context(|| format!("cannot read {name}"))
}

/// Returns whether the input at `path` can be read twice.
pub(crate) fn is_file(path: &Path) -> bool {
    path != Path::new(STANDARD) && path.is_file()
}

/// Returns a hint if the archive does not exist yet, but a killed program's buffer, or a file whose
/// name is nearly the same.
fn open_hint(path: &Path) -> String {
    if buffer_path(path).exists() {
        return format!(
            "{HINT}the program was killed: run `trace recover {}` first",
            path.display()
        );
    }
    let near = near_file(path).map(|near| format!("{HINT}did you mean {}?", near.display()));
    near.unwrap_or_default()
}
