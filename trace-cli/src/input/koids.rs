//! Processes and threads that arguments name.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{bail, ensure, Result};
use trace_analyze::extent;
use trace_convert::slice::Plan;
use trace_convert::visible;

use super::Spill;
use crate::cli::Selection;
use crate::damage::explained;
use crate::message::HINT;

/// The most names in a hint.
const MAX_LISTED: usize = 20;

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
        let is_selected = |name: &str| match argument.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == argument,
        };
        koids.extend(named.iter().filter(|(_, name)| is_selected(name)).map(|(koid, _)| *koid));
        ensure!(koids.len() > before, "{}", not_named(argument, what, named));
    }
    Ok((!arguments.is_empty()).then_some(koids))
}

/// Returns a message that nothing has a name, with the names that exist.
fn not_named(argument: &str, what: &str, named: &[(u64, String)]) -> String {
    let names = named.iter().map(|(_, name)| name.as_str()).filter(|name| !name.is_empty());
    let names: BTreeSet<&str> = names.collect();
    let listed: Vec<_> = names.iter().take(MAX_LISTED).map(|name| visible(name)).collect();
    let more = if names.len() > MAX_LISTED { ", …" } else { "" };
    let hint = match &listed[..] {
        [] => String::new(),
        listed => format!("{HINT}the names are {}{more}", listed.join(", ")),
    };
    format!("the archive has no {what} named '{argument}'{hint}")
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
