//! Context switches that an archive lacks, and times on a processor.

use std::path::Path;

use anyhow::Result;
use trace_analyze::schedule::Schedule;
use trace_analyze::stats::Report;

use crate::input::Spill;
use crate::message::{counted, plural, say};
use crate::unreadable::explained;

/// Returns the times of threads on a processor, if the archive has scheduling records. Reports why
/// they cannot be computed: those of a thread are known only at the end of the archive.
pub(crate) fn schedule(
    path: &Path,
    file: Option<&Spill<'_>>,
    report: &Report,
) -> Result<Option<Schedule>> {
    if report.context_switches == 0 {
        return Ok(None);
    }
    let Some(file) = file else {
        say("time on a processor is not computed for a pipe\nhint: pass the archive as a file");
        return Ok(None);
    };
    let schedule = explained(path, Schedule::read(file.open()?))?;
    if schedule.is_too_long() {
        say("too many scheduling records to compute the time on a processor");
        return Ok(None);
    }
    Ok(Some(schedule))
}

/// Returns a clause about missing context switches, or `None` if there are none. The kernel did not
/// report them if the archive is complete.
pub(crate) fn missing(number: u64, is_complete: bool) -> Option<String> {
    let what = if is_complete { "not recorded" } else { "missing" };
    let switches = counted(number, "context switch is", "context switches are");
    let times = plural(number, "times around it", "times around them");
    (number > 0).then(|| format!("{switches} {what}, {times} are estimated"))
}
