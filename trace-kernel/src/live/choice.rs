//! The choice of a source of the kernel's events, by what this process may use.

use trace_protocol::categories::CategorySet;
use trace_protocol::message::ClockSource;

use super::backend::Backend;
use super::categories::MARKERS;
use super::clock::TraceClock;
use super::error::LiveError;
use super::instance;
use super::options::Options;
use super::perf::tracepoints::Tracepoints;
use super::perf::Perf;
use super::sampling::Sampling;
use super::scope::Scope;
use super::served::{Lease, Server};
use super::setup::check_thread_ids;
use super::tracefs::Tracefs;
use super::uprobes::{CALL_PREFIX, ENTRY_PREFIX};

/// The size of ring buffers that are only opened to see whether they can be.
const SMALL: u64 = 1;

/// A source of the kernel's events, the best one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// All events.
    Tracefs,
    /// Scheduling of the user's own threads by the privileged helper.
    Helper,
    /// Events by perf tracepoints.
    Tracepoints,
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
    /// The patterns whose events the source cannot record.
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
            Self::Helper => "tracefs by the privileged helper",
            Self::Tracepoints => "perf tracepoints",
            Self::PerfCpus => "perf events of all threads",
            Self::PerfThreads => "perf events of the command's threads",
            Self::Sampling => "samples of /proc/PID/schedstat",
        }
    }

    /// Returns the data that it cannot record; nothing for the best source.
    #[must_use]
    pub fn missing(self) -> &'static str {
        match self {
            Self::Tracefs | Self::Helper | Self::Tracepoints => "",
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
    if !error.is_of_permission() {
        return Err(error);
    }
    // Tracepoints have more categories than the sources below.
    let of_tracepoints = except(patterns, requires_instance);
    // No included category would be all of them.
    if !unrecorded.is_empty() && included(&of_tracepoints).next().is_some() {
        if let Ok(tracepoints) = open_tracepoints(options, &of_tracepoints) {
            let unrecorded = included(patterns).filter(|it| requires_instance(it));
            let unrecorded = unrecorded.cloned().collect();
            return Ok(tracepoints_choice(tracepoints, vec![error], unrecorded));
        }
    }
    if unrecorded.len() == included(patterns).count() {
        return Err(error);
    }
    let mut refused = vec![error];
    let permitted = except(patterns, |pattern| unrecorded.iter().any(|it| it == pattern));
    match Tracefs::open_by_helper(&options.server, options, &permitted, source) {
        Ok((tracefs, clock)) => {
            let fallback = Some(Fallback { kind: BackendKind::Helper, refused, unrecorded });
            return Ok(Choice { backend: Box::new(tracefs), clock, fallback });
        }
        Err(error) => refused.push(error),
    }
    match open_tracepoints(options, &permitted) {
        Ok(tracepoints) => return Ok(tracepoints_choice(tracepoints, refused, unrecorded)),
        Err(error) => refused.push(error),
    }
    let Some((kind, backend)) = open(&options.scope, options.buffer_size, &mut refused) else {
        return Err(refused.pop().unwrap_or(LiveError::NoTracefs));
    };
    let fallback = Some(Fallback { kind, refused, unrecorded });
    Ok(Choice { backend, clock: TraceClock::monotonic_raw(), fallback })
}

fn tracepoints_choice(
    tracepoints: Tracepoints,
    refused: Vec<LiveError>,
    unrecorded: Vec<String>,
) -> Choice {
    let fallback = Some(Fallback { kind: BackendKind::Tracepoints, refused, unrecorded });
    let (backend, clock) = (Box::new(tracepoints), TraceClock::monotonic_raw());
    Choice { backend, clock, fallback }
}

/// Opens tracepoints.
fn open_tracepoints(options: &Options, patterns: &[String]) -> Result<Tracepoints, LiveError> {
    Tracepoints::open(&options.scope, patterns, options.buffer_size).map_err(no_tracepoints)
}

/// Returns why tracepoints are not used. The reason may be that of tracefs, too.
fn no_tracepoints(error: LiveError) -> LiveError {
    match error {
        LiveError::Perf(..) | LiveError::TracepointScope => error,
        error => LiveError::NoTracepoints(Box::new(error)),
    }
}

/// Opens the best source other than tracefs. Adds why each better one cannot be used.
fn open(
    scope: &Scope,
    bytes: u64,
    refused: &mut Vec<LiveError>,
) -> Option<(BackendKind, Box<dyn Backend>)> {
    match Perf::of_cpus(scope, bytes) {
        Ok(perf) => return Some((BackendKind::PerfCpus, Box::new(perf))),
        Err(error) => refused.push(error),
    }
    // The other sources select threads. A list without any would be that of all.
    let threads = match scope.threads() {
        Ok(threads) if threads.is_empty() => return None,
        Ok(threads) => threads,
        Err(error) => {
            refused.push(error);
            return None;
        }
    };
    match Perf::of_threads(scope, bytes) {
        Ok(perf) => return Some((BackendKind::PerfThreads, Box::new(perf))),
        Err(error) => refused.push(error),
    }
    match Sampling::new(scope, &threads) {
        Ok(sampling) => return Some((BackendKind::Sampling, Box::new(sampling))),
        Err(error) => refused.push(error),
    }
    None
}

/// Returns the best source that this process may use for its own threads, and why each better one
/// cannot be used. `server` is the privileged helper.
#[must_use]
pub fn probe(server: &Server) -> (Option<BackendKind>, Vec<LiveError>) {
    let mut refused = match check_thread_ids().and_then(|()| instance::check()) {
        Ok(_) => return (Some(BackendKind::Tracefs), Vec::new()),
        Err(error) => vec![error],
    };
    match probe_helper(server) {
        Ok(()) => return (Some(BackendKind::Helper), refused),
        Err(error) => refused.push(error),
    }
    let sched = ["kernel:sched".to_owned()];
    match Tracepoints::open(&Scope::Machine, &sched, SMALL).map_err(no_tracepoints) {
        Ok(_) => return (Some(BackendKind::Tracepoints), refused),
        Err(error) => refused.push(error),
    }
    let opened = open(&Scope::Threads(vec![u64::from(std::process::id())]), SMALL, &mut refused);
    (opened.map(|(kind, _)| kind), refused)
}

/// Checks that a privileged helper answers.
///
/// # Errors
///
/// The reason why it does not.
pub fn probe_helper(server: &Server) -> Result<(), LiveError> {
    check_thread_ids()?;
    match server.exists() {
        true => Lease::new(server).map(drop),
        false => Err(LiveError::NoServer(server.clone())),
    }
}

fn included(patterns: &[String]) -> impl Iterator<Item = &String> {
    patterns.iter().filter(|pattern| !pattern.starts_with('-'))
}

/// Returns the patterns without those of a kind.
fn except(patterns: &[String], is_it: impl Fn(&str) -> bool) -> Vec<String> {
    patterns.iter().filter(|pattern| !is_it(pattern)).cloned().collect()
}

/// Returns whether the events of a pattern require an instance of tracefs: texts of programs, and
/// calls of functions.
fn requires_instance(pattern: &str) -> bool {
    pattern == MARKERS || pattern.starts_with(ENTRY_PREFIX) || pattern.starts_with(CALL_PREFIX)
}

/// Returns the patterns whose events require tracefs or tracepoints.
fn unrecorded(patterns: &[String]) -> Vec<String> {
    let requires_more = |pattern: &&String| {
        let set = CategorySet::new(&[pattern.as_str()]);
        !set.matches("kernel:sched") && !set.matches("kernel:tasks")
    };
    included(patterns).filter(requires_more).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::served::DEFAULT_SOCKET;
    use super::*;

    #[test]
    fn patterns_that_require_better_sources() {
        let patterns = ["kernel:*", "kernel:tasks", "kernel:irq", "-kernel:net", "atrace"];
        let patterns = patterns.map(str::to_owned);
        assert_eq!(unrecorded(&patterns), ["kernel:irq", "atrace"]);
        assert_eq!(except(&patterns, requires_instance), patterns[..4]);
        assert!(requires_instance("kernel:uprobe:/bin/a:main"));
        assert!(requires_instance("kernel:uretprobe:/bin/a:main"));
    }

    #[test]
    fn each_worse_source_has_another_reason() {
        let (kind, refused) = probe(&Server::Socket(DEFAULT_SOCKET.into()));
        let kinds = [
            BackendKind::Tracefs,
            BackendKind::Helper,
            BackendKind::Tracepoints,
            BackendKind::PerfCpus,
            BackendKind::PerfThreads,
            BackendKind::Sampling,
        ];
        let place = kinds.iter().position(|it| Some(*it) == kind);
        assert_eq!(place.unwrap_or(kinds.len()), refused.len());
    }
}
