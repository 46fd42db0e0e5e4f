//! The choice of a source of the kernel's events, by what this process may use.

use trace_protocol::categories::CategorySet;
use trace_protocol::message::ClockSource;

use super::backend::Backend;
use super::clock::TraceClock;
use super::error::LiveError;
use super::instance;
use super::perf::Perf;
use super::provider::Options;
use super::sampling::{self, Sampling};
use super::tracefs::Tracefs;

/// The size of ring buffers that are only opened to see whether they can be.
const SMALL: u64 = 1;

/// A source of the kernel's events, the best one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// All events.
    Tracefs,
    /// Context switches of all threads by perf events.
    PerfCpus,
    /// Context switches of some threads by perf events.
    PerfThreads,
    /// Times of threads by samples of `/proc`.
    Sampling,
}

/// Why a better source is not used, and what is missing without it.
#[derive(Debug)]
pub struct Fallback {
    /// The source that is used.
    pub kind: BackendKind,
    /// Why each better source cannot be used.
    pub refused: Vec<LiveError>,
    /// The patterns whose events require tracefs.
    pub unrecorded: Vec<String>,
}

/// A source of the kernel's events.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) backend: Box<dyn Backend>,
    pub(super) clock: TraceClock,
    /// `None` if it is the best source.
    pub(super) fallback: Option<Fallback>,
}

impl BackendKind {
    /// Returns its name for users.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tracefs => "tracefs",
            Self::PerfCpus => "perf events of all threads",
            Self::PerfThreads => "perf events of the command's threads",
            Self::Sampling => "samples of /proc/PID/schedstat",
        }
    }

    /// Returns the data that it cannot record; nothing for the best source.
    #[must_use]
    pub fn missing(self) -> &'static str {
        match self {
            Self::Tracefs => "",
            Self::PerfCpus => "no wake-ups and migrations",
            Self::PerfThreads => "no wake-ups and migrations, and no threads that run in between",
            Self::Sampling => "no context switches, only counters of run and wait times",
        }
    }
}

/// Opens the best source that this process may use.
///
/// # Errors
///
/// There is none for the selected events.
pub(super) fn choose(
    options: &Options,
    patterns: &[String],
    source: ClockSource,
) -> Result<Choice, LiveError> {
    let error = match Tracefs::open(options, patterns, source) {
        Ok((tracefs, clock)) => {
            return Ok(Choice { backend: Box::new(tracefs), clock, fallback: None });
        }
        Err(error) => error,
    };
    let unrecorded = unrecorded(patterns);
    if !error.is_of_permission() || unrecorded.len() == included(patterns).count() {
        return Err(error);
    }
    let (backend, kind, mut refused) = open(&options.threads, options.buffer_size)?;
    refused.insert(0, error);
    let fallback = Some(Fallback { kind, refused, unrecorded });
    Ok(Choice { backend, clock: TraceClock::monotonic_raw(), fallback })
}

/// Opens the best source other than tracefs.
fn open(
    threads: &[u64],
    bytes: u64,
) -> Result<(Box<dyn Backend>, BackendKind, Vec<LiveError>), LiveError> {
    let of_cpus = match Perf::of_cpus(threads, bytes) {
        Ok(perf) => return Ok((Box::new(perf), BackendKind::PerfCpus, Vec::new())),
        // The other sources require threads.
        Err(error) if threads.is_empty() => return Err(error),
        Err(error) => error,
    };
    match Perf::of_threads(threads, bytes) {
        Ok(perf) => Ok((Box::new(perf), BackendKind::PerfThreads, vec![of_cpus])),
        Err(error) => {
            let sampling = Box::new(Sampling::new(threads)?);
            Ok((sampling, BackendKind::Sampling, vec![of_cpus, error]))
        }
    }
}

/// Returns the best source that this process may use for its own threads, and why each better one
/// cannot be used.
#[must_use]
pub fn probe() -> (Option<BackendKind>, Vec<LiveError>) {
    let own = u64::from(std::process::id());
    let attempts: [(BackendKind, &dyn Fn() -> Result<(), LiveError>); 4] = [
        (BackendKind::Tracefs, &|| instance::check().map(drop)),
        (BackendKind::PerfCpus, &|| Perf::of_cpus(&[], SMALL).map(drop)),
        (BackendKind::PerfThreads, &|| Perf::of_threads(&[own], SMALL).map(drop)),
        (BackendKind::Sampling, &sampling::check),
    ];
    let mut refused = Vec::new();
    for (kind, attempt) in attempts {
        match attempt() {
            Ok(()) => return (Some(kind), refused),
            Err(error) => refused.push(error),
        }
    }
    (None, refused)
}

fn included(patterns: &[String]) -> impl Iterator<Item = &String> {
    patterns.iter().filter(|pattern| !pattern.starts_with('-'))
}

/// Returns the patterns whose events require tracefs.
fn unrecorded(patterns: &[String]) -> Vec<String> {
    let requires_tracefs = |pattern: &&String| {
        let set = CategorySet::new(&[pattern.as_str()]);
        !set.matches("kernel:sched") && !set.matches("kernel:tasks")
    };
    included(patterns).filter(requires_tracefs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_require_tracefs() {
        let patterns = ["kernel:*", "kernel:tasks", "kernel:irq", "-kernel:net", "atrace"];
        assert_eq!(unrecorded(&patterns.map(str::to_owned)), ["kernel:irq", "atrace"]);
    }

    #[test]
    fn each_worse_source_has_another_reason() {
        let (kind, refused) = probe();
        let kinds = [
            BackendKind::Tracefs,
            BackendKind::PerfCpus,
            BackendKind::PerfThreads,
            BackendKind::Sampling,
        ];
        let place = kinds.iter().position(|it| Some(*it) == kind);
        assert_eq!(place.unwrap_or(kinds.len()), refused.len());
    }
}
