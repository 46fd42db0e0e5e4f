//! The archive of an earlier recording, which has the name of the new one.

use std::fs;
use std::path::{Path, PathBuf};

use trace_manager::SessionSummary;

use crate::cli::RecordArgs;
use crate::input::STANDARD;

/// An earlier archive, or none.
#[derive(Debug)]
pub(super) struct Earlier(Option<PathBuf>);

impl Earlier {
    /// Finds the file that the new archive would replace.
    pub(super) fn find(output: &Path) -> Self {
        let metadata = fs::metadata(output).ok().filter(|_| output != Path::new(STANDARD));
        let is_archive = metadata.is_some_and(|found| found.is_file() && found.len() > 0);
        let path = || fs::canonicalize(output).unwrap_or_else(|_| output.to_owned());
        Self(is_archive.then(path))
    }

    /// Reports the new name of the earlier archive.
    pub(super) fn report(&self, args: &RecordArgs, summary: &SessionSummary) {
        let is_replaced = summary.archive.as_ref().is_ok_and(|bytes| *bytes > 0);
        if let Some(path) = self.0.as_ref().filter(|_| is_replaced) {
            super::note(args, &format!("the earlier archive is now {}.old", path.display()));
        }
    }
}
