//! Context switches that an archive lacks.

use std::path::Path;

use anyhow::Result;
use trace_analyze::schedule::threads;
use trace_analyze::Kinds;

use crate::damage::explained;
use crate::input::Spill;
use crate::message::counted;

/// Adds the number of missing context switches, if there are scheduling records. Only the threads
/// that were to be recorded count, as in `trace stats --sched`.
pub(crate) fn count(path: &Path, input: &Spill<'_>, kinds: &mut Kinds) -> Result<()> {
    if kinds.switches > 0 {
        let report = explained(path, threads::read(input.open()?))?;
        kinds.missing_switches = Some(report.missing);
    }
    Ok(())
}

/// Returns a clause about missing context switches, or `None` if there are none. The kernel did not
/// report them if the archive is complete.
pub(crate) fn missing(number: u64, is_complete: bool) -> Option<String> {
    let what = if is_complete { "not recorded" } else { "missing" };
    let switches = counted(number, "context switch is", "context switches are");
    (number > 0).then(|| format!("{switches} {what}, times around them are estimated"))
}
