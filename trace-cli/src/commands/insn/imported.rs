//! Files of perf as recordings.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use trace_insntrace::perf_data::{self, Imported};
use trace_insntrace::recording::Recording;

use crate::say;

/// Reads a file of perf as a recording in `directory`, and reports what is missing.
pub(super) fn import(file: &Path, directory: &Path) -> Result<Recording> {
    let name = file.display();
    let input = File::open(file).with_context(|| format!("cannot open {name}"))?;
    let (recording, rest) =
        perf_data::read(input, directory).with_context(|| format!("cannot read {name}"))?;
    report_missing(&rest, &name.to_string());
    Ok(recording)
}

/// Reports what a recording does not have.
pub(super) fn report_missing(imported: &Imported, name: &str) {
    for path in &imported.missing {
        say(&format!("no code of {path}: it is missing, or has changed since the recording"));
    }
    if imported.unattributed > 0 {
        say(&format!("{name} does not have the thread of {} parts of it", imported.unattributed));
    }
}
