//! `trace record --format xray`

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{bail, Context, Result};
use trace_xray::fxt::Options;

use crate::args::Format;
use crate::cli::{RecordArgs, RecordFormat};
use crate::input::STANDARD;
use crate::logs::{self, Logs};
use crate::message::HINT;

/// The logs that a recording will write.
#[derive(Debug)]
pub(crate) struct LogOutput {
    directory: PathBuf,
    /// The session's hidden archive.
    pub(crate) archive: PathBuf,
    pub(crate) options: Options,
    /// Whether this recording created the directory.
    is_new: bool,
}

impl LogOutput {
    /// Returns the output of the arguments, or `None` if they select an archive.
    pub(super) fn create(args: &RecordArgs) -> Result<Option<Self>> {
        if args.format == RecordFormat::Fxt {
            if args.min_duration.is_some() {
                bail!("--min-duration requires --format xray");
            }
            if args.log_version.is_some() {
                bail!("--log-version requires --format xray");
            }
            return Ok(None);
        }
        let directory = &args.session.output;
        refuse_unsupported(args)?;
        refuse_files(directory)?;
        let is_new = !directory.exists();
        if is_new {
            fs::create_dir(directory)
                .with_context(|| format!("cannot create the directory {}", directory.display()))?;
        }
        let archive = logs::hidden_archive(directory, process::id());
        let options = Options {
            min_duration: args.min_duration.unwrap_or_default(),
            version: args.log_version.unwrap_or_default(),
        };
        Ok(Some(Self { directory: directory.clone(), archive, options, is_new }))
    }

    /// Returns the path of the archive if the logs cannot be written.
    pub(super) fn kept(&self) -> PathBuf {
        self.directory.join(format!("recording-{}.fxt", process::id()))
    }

    /// Writes the logs. If that fails, the archive is kept with another name.
    pub(super) fn write(&self) -> Result<Logs> {
        let error = match logs::convert_hidden(&self.archive, &self.options, logs::PATIENCE) {
            Ok(logs) => return Ok(logs.unwrap_or_default()),
            Err(error) => error,
        };
        let kept = self.kept();
        match logs::keep_hidden(&self.archive, kept.file_name().unwrap_or_default()) {
            Ok(()) => Err(error.context(format!("the archive is kept as {}", kept.display()))),
            Err(_) => Err(error),
        }
    }
}

impl Drop for LogOutput {
    fn drop(&mut self) {
        if self.is_new {
            // Fails if the directory has files.
            let _kept = fs::remove_dir(&self.directory);
        }
    }
}

/// Fails if options require an archive that is kept.
fn refuse_unsupported(args: &RecordArgs) -> Result<()> {
    let mut triggers = args.session.triggers.iter();
    let needs_archive = triggers.any(|it| it.actions.snapshot || it.actions.run.is_some());
    let option = match () {
        () if !args.session.rotate.is_empty() => "--rotate",
        () if needs_archive => "a --trigger with a snapshot or a command",
        () => return Ok(()),
    };
    bail!("{option} cannot be used with --format xray{HINT}record an archive, and convert it with trace convert FILE.fxt -o FILE.xray")
}

/// Fails if the output is not a directory, or has the name of a file.
fn refuse_files(output: &Path) -> Result<()> {
    const ADVICE: &str = "each process has its own log: name a directory with -o DIR";
    let name = output.display();
    if output == Path::new(STANDARD) {
        bail!("cannot write XRay logs to standard output{HINT}{ADVICE}");
    }
    if output.is_dir() {
        return Ok(());
    }
    if output.exists() {
        bail!("cannot write XRay logs to {name}: is not a directory{HINT}{ADVICE}");
    }
    match Format::of(output) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => {
            bail!("cannot write XRay logs to {name}: is the name of a file{HINT}{ADVICE}")
        }
        // An extension of no known format.
        Err(_) => Ok(()),
    }
}
