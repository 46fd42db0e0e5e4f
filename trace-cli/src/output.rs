//! Outputs of commands. [`trace_protocol::file`] has the rules.

use std::fs::{self, File};
use std::io::{self, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use anyhow::{bail, Context, Result};
use signal_hook::consts::SIGXFSZ;
use trace_protocol::file::{self, NewFile, Place};

use crate::args::Format;
use crate::compression::{Compression, Compressor};
use crate::input::STANDARD;
use crate::message::{say, HINT};

/// Makes writes beyond the limit of a file's size (`ulimit -f`) fail, as on a
/// full disk, instead of killing the process.
pub(crate) fn refuse_large_files_with_an_error() {
    // If this fails, the limit kills the process, as usual.
    let _unchanged = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Fails if the output would replace the input.
pub(crate) fn refuse_same_file(input: &Path, output: &Path) -> Result<()> {
    let (from, to) = (fs::canonicalize(input), fs::canonicalize(output));
    if from.is_ok_and(|from| to.is_ok_and(|to| from == to && from.is_file())) {
        bail!("{} is both input and output{HINT}choose another name for -o", input.display());
    }
    Ok(())
}

/// Returns the output that was chosen, or in the current directory one with the name of the input
/// and another extension.
pub(crate) fn path_or_default(
    chosen: Option<&Path>,
    input: &Path,
    extension: &str,
) -> Result<PathBuf> {
    if let Some(chosen) = chosen {
        return Ok(chosen.to_owned());
    }
    if input == Path::new(STANDARD) {
        bail!("the output has no name{HINT}name it with -o");
    }
    let name = input.file_name().with_context(|| format!("cannot read {}", input.display()))?;
    let mut plain = match Compression::of(Path::new(name)) {
        Ok(Compression::Gzip | Compression::Zstd) => Path::new(name).with_extension(""),
        _ => PathBuf::from(name),
    };
    if let Ok(Some(_)) = Format::of(&plain) {
        plain.set_extension("");
    }
    let mut named = plain.into_os_string();
    named.push(".");
    named.push(extension);
    Ok(named.into())
}

/// Reports the name of a complete output that the user has not chosen.
pub(crate) fn name_default(chosen: Option<&Path>, output: &Path) {
    if chosen.is_none() {
        say(&format!("written to {}", output.display()));
    }
}

/// The output of a command, compressed according to its extension.
#[derive(Debug)]
pub(crate) struct Output(Compressor<Target>);

impl Output {
    /// Starts writing to `path`, `-` for standard output.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let compression = Compression::of(path)?;
        let target = Target::create(path)?;
        let compressor = Compressor::new(target, compression);
        compressor.map(Self).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Calls [`Output::finish`], and names `path` in errors.
    pub(crate) fn finish_as(self, path: &Path) -> Result<()> {
        self.finish().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Gives the complete file its name.
    pub(crate) fn finish(self) -> Result<()> {
        self.0.finish()?.finish()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Where the bytes go.
#[derive(Debug)]
enum Target {
    /// Standard output.
    Standard(StdoutLock<'static>),
    /// A pipe, a device or another special file.
    Direct(File),
    /// A file that gets its name when it is complete.
    Replace(NewFile),
}

impl Target {
    fn create(path: &Path) -> Result<Self> {
        if path == Path::new(STANDARD) {
            return Ok(Self::Standard(io::stdout().lock()));
        }
        let failed = || format!("cannot write {}", path.display());
        match file::Target::find(path).with_context(failed)? {
            file::Target::File(place) => Self::replace(place).with_context(failed),
            file::Target::Node(node) => node.open().map(Self::Direct).with_context(failed),
        }
    }

    fn replace(place: Place) -> Result<Self> {
        let directory = place.directory().path().to_owned();
        let file = NewFile::unnamed(place)
            .with_context(|| format!("cannot create a file in {}", directory.display()))?;
        Ok(Self::Replace(file))
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        if let Self::Replace(file) = self {
            let path = file.place().path();
            file.complete().with_context(|| {
                format!("cannot rename the complete file to {}", path.display())
            })?;
        }
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(stdout) => stdout.write(bytes),
            Self::Direct(file) => file.write(bytes),
            Self::Replace(file) => (&**file.file()).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(stdout) => stdout.flush(),
            Self::Direct(_) | Self::Replace(_) => Ok(()),
        }
    }
}
