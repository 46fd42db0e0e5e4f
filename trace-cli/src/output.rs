//! Files that get their name when they are complete.

mod unfinished;

use std::fs::{self, File, Permissions};
use std::io::{self, StdoutLock, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use anyhow::{bail, Context, Result};
use signal_hook::consts::SIGXFSZ;

use crate::compression::{Compression, Compressor};
use crate::input::STANDARD;
use unfinished::Unfinished;

/// Sees to it that writing beyond the limit of a file's size (`ulimit -f`) is
/// an error, as on a full disk, and not the end of the process.
pub(crate) fn refuse_large_files_with_an_error() {
    // Without it nothing is worse than the end that the limit's user expects.
    let _unchanged = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Sees to it that an input is not replaced by what is made of it.
pub(crate) fn refuse_same_file(input: &Path, output: &Path) -> Result<()> {
    let (from, to) = (fs::canonicalize(input), fs::canonicalize(output));
    if from.is_ok_and(|from| to.is_ok_and(|to| from == to && from.is_file())) {
        bail!("'{}' is both input and output: give another name after -o", input.display());
    }
    Ok(())
}

/// What a command writes to; compressed if the name ends like that.
#[derive(Debug)]
pub(crate) struct Output(Compressor<Target>);

impl Output {
    /// Starts writing to `path`, `-` for standard output.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let compression = Compression::of(path)?;
        let target = Target::create(path)?;
        let compressor = Compressor::new(target, compression);
        compressor.map(Self).with_context(|| format!("cannot write '{}'", path.display()))
    }

    /// The same as [`Output::finish`], with the name that the user knows in an
    /// error.
    pub(crate) fn finish_as(self, path: &Path) -> Result<()> {
        self.finish().with_context(|| format!("cannot write '{}'", path.display()))
    }

    /// Gives the file its name, now that all is written.
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
    /// What is there and is no ordinary file, such as a pipe or a device.
    Direct(File),
    /// A file that gets this name when it is complete.
    Replace(Unfinished, PathBuf),
}

impl Target {
    fn create(path: &Path) -> Result<Self> {
        if path == Path::new(STANDARD) {
            return Ok(Self::Standard(io::stdout().lock()));
        }
        // The file that a link leads to is replaced, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let failed = || format!("cannot write '{}'", path.display());
        match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => {
                Err(anyhow::anyhow!("it is a directory: expected the name of a file"))
                    .with_context(failed)
            }
            Ok(metadata) if !metadata.is_file() => {
                let file = File::options().write(true).open(&target).with_context(failed)?;
                Ok(Self::Direct(file))
            }
            Ok(metadata) => Self::replace(target, metadata.permissions()).with_context(failed),
            Err(_) => Self::replace(target, Permissions::from_mode(0o666)).with_context(failed),
        }
    }

    fn replace(target: PathBuf, permissions: Permissions) -> Result<Self> {
        let directory = directory_of(&target);
        let file = Unfinished::create_in(directory, &permissions).with_context(|| {
            format!(
                "cannot make a file in '{}'; does it exist, and may you write there?",
                directory.display()
            )
        })?;
        Ok(Self::Replace(file, target))
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        if let Self::Replace(file, target) = self {
            file.persist(directory_of(&target), &target)
                .with_context(|| format!("cannot name the file '{}'", target.display()))?;
        }
        Ok(())
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Self::Standard(stdout) => stdout,
            Self::Direct(file) => file,
            Self::Replace(file, _) => file,
        }
    }
}

fn directory_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }
}
