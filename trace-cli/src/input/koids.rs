//! Processes and threads that arguments name.

use std::path::Path;

use anyhow::{bail, ensure, Result};
use trace_analyze::extent;
use trace_convert::slice::Plan;

use super::Spill;
use crate::cli::Selection;
use crate::damage::explained;

/// Returns whether an argument is a name and not an id.
pub(crate) fn is_name(argument: &str) -> bool {
    argument.parse::<u64>().is_err()
}

/// Returns the koids of processes or threads with these ids or names, or `None` for all. `named`
/// has those of the archive.
pub(crate) fn koids(
    arguments: &[String],
    what: &str,
    named: &[(u64, String)],
) -> Result<Option<Vec<u64>>> {
    let mut koids = Vec::new();
    for argument in arguments {
        if let Ok(koid) = argument.parse() {
            koids.push(koid);
            continue;
        }
        let before = koids.len();
        koids.extend(named.iter().filter(|(_, name)| name == argument).map(|(koid, _)| *koid));
        ensure!(koids.len() > before, "the archive has no {what} named '{argument}'");
    }
    Ok((!arguments.is_empty()).then_some(koids))
}

/// Returns the koids of the selected threads, or `None` for all.
pub(crate) fn selected_threads(
    path: &Path,
    input: &Spill<'_>,
    selection: &Selection,
) -> Result<Option<Vec<u64>>> {
    let named = match selection.thread.iter().any(|thread| is_name(thread)) {
        true => explained(path, extent::read(input.open()?))?.threads,
        false => Vec::new(),
    };
    koids(&selection.thread, "thread", &named)
}

/// Fails if the archive lacks a selected process or thread.
pub(crate) fn refuse_missing(path: &Path, plan: &Plan<'_>) -> Result<()> {
    let missing = [("process", plan.missing_process()), ("thread", plan.missing_thread())];
    for (what, koid) in missing {
        if let Some(koid) = koid {
            bail!("{} has no {what} {koid}", path.display());
        }
    }
    Ok(())
}
