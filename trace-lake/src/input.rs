//! Inputs: archives and the other formats that the command `trace` reads, compressed or not.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{anyhow, bail, Context, Result};
use trace_analyze::input::{temporary_copy, InputFormat};
use trace_convert::tef::Document;
use trace_format::{ReadError, Reader};
use trace_input::{decompress, json_error, json_shift, map_beside, InputKind, START_BYTES};
use trace_xray::fxt::{Fdr, FdrYaml};
use trace_xray::map::Map;

use crate::message::HINT;

/// The path for standard input.
pub const STANDARD: &str = "-";

/// An input that can be read any number of times, also at once.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    /// The file, which is opened once, or a copy of a pipe's data. A copy has no name, and
    /// disappears when this process ends.
    bytes: Positioned,
    /// The state of a file when it was opened, or `None` for a copy.
    opened: Option<Metadata>,
    kind: InputKind,
    /// By how many nanoseconds the times of JSON are later, so that none is negative.
    shift: u64,
    /// The map that names the functions of XRay logs.
    instr_map: Option<PathBuf>,
}

impl Input {
    /// Opens an input, `-` for standard input, and detects its format.
    ///
    /// # Errors
    ///
    /// The input cannot be read, or its format is not one that is read.
    pub fn new(path: &Path, instr_map: Option<&Path>) -> Result<Self> {
        let (file, opened) = open(path)?;
        let failed = || format!("cannot read {}", name(path));
        let bytes = Positioned::new(file).with_context(failed)?;
        let instr_map = instr_map.map(Path::to_owned);
        let mut start = Vec::new();
        let read =
            decompress(bytes.clone()).and_then(|it| it.take(START_BYTES).read_to_end(&mut start));
        read.with_context(failed)?;
        let kind = InputKind::detect(&start).filter(|kind| kind.reader().is_some());
        let kind = kind.ok_or_else(|| unknown(path, &start))?;
        let shift = match kind {
            InputKind::Json => json_shift(|| decompress(bytes.clone())),
            _ => 0,
        };
        Ok(Self { path: path.to_owned(), bytes, opened, kind, shift, instr_map })
    }

    /// Returns the path, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a reader of the input as an archive, from its start.
    ///
    /// # Errors
    ///
    /// Reading failed.
    pub fn open(&self) -> Result<Reader<Box<dyn Read>>> {
        let bytes = decompress(self.bytes.clone()).with_context(|| self.failed())?;
        let archive = match self.kind {
            InputKind::Json => Document { shift: self.shift, ..Document::default() }.open(bytes),
            InputKind::Xray => Fdr { map: self.map()? }.open(bytes),
            InputKind::XrayYaml => {
                let map = self.instr_map.is_some().then(|| self.map()).transpose()?;
                FdrYaml { map }.open(bytes)
            }
            kind => kind.reader().context("the format is only written")?.open(bytes),
        };
        Ok(Reader::new(archive.with_context(|| self.failed())?))
    }

    /// Returns the bytes of the input, from its start, as they are stored.
    #[must_use]
    pub fn content(&self) -> Box<dyn Read> {
        Box::new(self.bytes.clone())
    }

    /// Returns the time of the file's last change before it was opened, or `None` for a pipe.
    #[must_use]
    pub fn changed(&self) -> Option<SystemTime> {
        self.opened.as_ref()?.modified().ok()
    }

    /// Checks that the file has the length and the time of its last change that it had when it was
    /// opened: its readers have read the same bytes.
    ///
    /// # Errors
    ///
    /// The file was changed.
    pub fn check_unchanged(&self) -> Result<()> {
        let Some(opened) = &self.opened else { return Ok(()) };
        let now = self.bytes.file.metadata().with_context(|| self.failed())?;
        let state = |it: &Metadata| (it.len(), it.mtime(), it.mtime_nsec());
        if state(opened) != state(&now) {
            bail!(
                "{}: changed while it was read{HINT}add it when it is complete",
                name(&self.path)
            );
        }
        Ok(())
    }

    /// Returns the map of an XRay log: that of the option, or the one beside the log. Without one
    /// it is empty, and functions have numbers.
    fn map(&self) -> Result<Map> {
        let read = |file: &Path| {
            let failed = || format!("cannot read {}", file.display());
            Map::parse(&std::fs::read(file).with_context(failed)?).with_context(failed)
        };
        match (&self.instr_map, map_beside(&self.path)) {
            (Some(map), _) => read(map),
            (None, beside) => Ok(beside.and_then(|map| read(&map).ok()).unwrap_or_default()),
        }
    }

    /// Returns the message for an input that cannot be read as an archive.
    #[must_use]
    pub fn explain(&self, error: ReadError) -> anyhow::Error {
        let name = name(&self.path);
        match json_error(&error) {
            Some(error) => anyhow!("cannot read {name} as JSON: {error}"),
            None => anyhow::Error::new(error).context(self.failed()),
        }
    }

    fn failed(&self) -> String {
        format!("cannot read {}", name(&self.path))
    }
}

/// Returns the error for an input that starts like this.
fn unknown(path: &Path, start: &[u8]) -> anyhow::Error {
    let name = name(path);
    match (InputKind::detect(start), start) {
        (Some(InputKind::Perfetto), _) => anyhow!(
            "cannot read {name}: it is a trace of Perfetto, a format that is only written\
             {HINT}read the archive that it was converted from"
        ),
        (_, []) => {
            anyhow!("cannot read {name}: not a trace archive{HINT}an archive has at least 8 bytes")
        }
        _ => anyhow!(
            "cannot read {name}: not a trace archive{HINT}it is none of {}; an FXT archive starts \
             with the bytes 10 00 04 46 78 54 16 00",
            InputKind::names().join(", ")
        ),
    }
}

/// Returns the name of an input in messages.
fn name(path: &Path) -> String {
    match path == Path::new(STANDARD) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// Opens a file, with its state, or copies a pipe to a temporary file.
fn open(path: &Path) -> Result<(File, Option<Metadata>)> {
    let failed = || format!("cannot read {}", name(path));
    if path == Path::new(STANDARD) {
        let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let copy = input.and_then(temporary_copy);
        return Ok((copy.with_context(failed)?, None));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", name(path)))?;
    let metadata = file.metadata().with_context(failed)?;
    if metadata.is_dir() {
        bail!("{}: is a directory", failed());
    }
    Ok(match metadata.is_file() {
        true => (file, Some(metadata)),
        false => (temporary_copy(file).with_context(failed)?, None),
    })
}

/// A file that is read from a position of its own: several passes read at once. All of them read
/// what the file had when it was opened, also if it grows: what one has found holds for the others.
#[derive(Debug, Clone)]
struct Positioned {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Positioned {
    fn new(file: File) -> io::Result<Self> {
        let end = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), at: 0, end })
    }
}

impl Read for Positioned {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = room.len().min(left);
        let count = self.file.read_at(room.get_mut(..most).unwrap_or_default(), self.at)?;
        if count == 0 && most != 0 {
            let reason = "the file became shorter while it was read";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;
    use crate::testing;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn records(input: &Input) -> u64 {
        let mut reader = input.open().unwrap();
        while reader.next().unwrap().is_some() {}
        reader.stats().records
    }

    #[test]
    fn compressed_inputs_and_json_are_read_any_number_of_times() {
        let plain = testing::archive(&[testing::complete("a", 1, 2)]);
        let json = br#"[{"ph":"X","name":"a","ts":-1,"dur":1,"pid":1,"tid":1}]"#;
        let zstd = zstd::encode_all(&*plain, 0).unwrap();
        for bytes in [&plain[..], &zstd, &json[..]] {
            let file = file(bytes);
            let input = Input::new(file.path(), None).unwrap();
            let number = records(&input);
            assert!(number > 1);
            assert_eq!(records(&input), number);
        }
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        let file = file(&testing::archive(&[testing::complete("a", 1, 2)]));
        let input = Input::new(file.path(), None).unwrap();
        let mut reader = input.open().unwrap();
        file.as_file().set_len(0).unwrap();
        let error = input.explain(reader.next().unwrap_err());
        assert!(format!("{error:#}").contains("the file became shorter"), "{error:#}");
    }

    /// A recorder may append to it between two queries.
    #[test]
    fn a_file_that_grows_is_read_as_it_was_opened() {
        let bytes = testing::archive(&[testing::complete("a", 1, 2)]);
        let mut file = file(&bytes);
        let input = Input::new(file.path(), None).unwrap();
        let number = records(&input);
        file.write_all(&testing::archive(&[testing::complete("b", 3, 4)])).unwrap();
        assert_eq!(records(&input), number);
        assert!(records(&Input::new(file.path(), None).unwrap()) > number);
    }

    #[test]
    fn what_is_no_archive_is_refused_with_the_formats() {
        for (bytes, text) in [
            (&b"hello world"[..], "it is none of FXT, "),
            (b"", "an archive has at least 8 bytes"),
            (&[0x0a, 0x01, 0x00, 0x0a, 0x01, 0x00], "a trace of Perfetto"),
        ] {
            let file = file(bytes);
            let error = Input::new(file.path(), None).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
        let error = Input::new(Path::new("/"), None).unwrap_err();
        assert_eq!(format!("{error:#}"), "cannot read /: is a directory");
    }

    #[test]
    fn passes_over_a_copy_are_independent() {
        let bytes = testing::archive(&[testing::complete("a", 1, 2)]);
        let copy = Positioned::new(temporary_copy(Cursor::new(&bytes)).unwrap()).unwrap();
        let [mut first, mut second] = [(); 2].map(|()| decompress(copy.clone()).unwrap());
        let (mut one, mut two) = (Vec::new(), Vec::new());
        first.by_ref().take(10).read_to_end(&mut one).unwrap();
        second.read_to_end(&mut two).unwrap();
        first.read_to_end(&mut one).unwrap();
        assert!(one == bytes && two == bytes);
    }

    #[test]
    fn all_passes_read_the_file_that_was_opened() {
        let mut file = file(&testing::archive(&[testing::complete("a", 1, 2)]));
        let input = Input::new(file.path(), None).unwrap();
        let number = records(&input);
        let other = testing::archive(&[]);
        let beside = file.path().with_extension("other");
        std::fs::write(&beside, other).unwrap();
        std::fs::rename(&beside, file.path()).unwrap();
        assert_eq!(records(&input), number);
        input.check_unchanged().unwrap();
        file.write_all(&[0; 8]).unwrap();
        let error = input.check_unchanged().unwrap_err().to_string();
        assert!(error.contains(": changed while it was read\nhint: "), "{error}");
    }
}
