//! Processes and threads that arguments name.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{bail, ensure, Result};
use trace_analyze::extent;
use trace_convert::slice::Plan;
use trace_convert::visible;

use super::Spill;
use crate::cli::Selection;
use crate::message::HINT;
use crate::unreadable::explained;

/// The most names in a hint.
const MAX_LISTED: usize = 20;

/// Returns whether an argument is a name and not an id.
pub(crate) fn is_name(argument: &str) -> bool {
    argument.parse::<u64>().is_err()
}

/// Returns the koid of an argument such as `7`, or in the forms that tables have: `#7`, `1/7`,
/// `1 / 7`, `name (7)`, `name (1/7)` or `program (1) / name (7)`.
fn printed_koid(argument: &str) -> Option<u64> {
    let in_parentheses = argument.strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let text = in_parentheses.map_or(argument, |(_, text)| text);
    let text = text.strip_prefix('#').unwrap_or(text);
    let koid = text.split_once('/').map_or(text, |(process, thread)| {
        process.trim().parse::<u64>().map_or(text, |_| thread.trim())
    });
    koid.parse().ok()
}

/// Returns whether an argument is the name of a process or thread.
fn is_of_one(argument: &str, named: &[(u64, String)]) -> bool {
    is_name(argument) && named.iter().any(|(_, name)| name == argument)
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
        if let Some(koid) = printed_koid(argument).filter(|_| !is_of_one(argument, named)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_selected_as_they_are_printed() {
        let named = [(7, "worker (8)".to_owned()), (8, "main".to_owned()), (9, "1/x".to_owned())];
        let forms = ["7", "#7", "1/7", "worker (7)", "app (1/7)", "app (1) / worker (7)"];
        for form in forms {
            assert_eq!(koids(&[form.to_owned()], "thread", &named).unwrap(), Some(vec![7]));
        }
        for (name, koid) in [("worker (8)", 7), ("main", 8), ("1/x", 9), ("ma*", 8)] {
            assert_eq!(koids(&[name.to_owned()], "thread", &named).unwrap(), Some(vec![koid]));
        }
        for wrong in ["", "()", "#", "x/7", "name ()", "7 (x)"] {
            assert!(koids(&[wrong.to_owned()], "thread", &named).is_err(), "{wrong}");
        }
    }
}
