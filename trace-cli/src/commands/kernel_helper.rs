//! The process that records the kernel's events for `trace record` and for sessions of the daemon.

use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Sender};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use trace_kernel::live::{
    BackendKind, Cgroup, CounterReport, Fallback, KernelProvider, LiveError, Options,
    SampleCounter, SampleEvent, SampleOptions, SampleRate, SampleSource, SampledCounter, Scope,
    Server, SourceReport, Totals,
};

use super::record::kernel::{READY, TOTALS};
use crate::cli::KernelHelperArgs;
use crate::descriptors;
use crate::exit;
use crate::message::{describe, HINT};

/// Why the helper ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The recorder has closed its end of standard input, also because it was killed.
    Closed,
    Signal,
}

pub(crate) fn run(args: &KernelHelperArgs) -> Result<u8> {
    // The name that `ps` shows. Without this it would be `exe`.
    let _unnamed = std::fs::write("/proc/self/comm", "trace-kernel");
    // Counters have a descriptor for each thread or CPU.
    descriptors::raise_limit();
    let (sender, end) = mpsc::channel();
    watch(sender)?;
    let options = Options {
        categories: args.categories.clone(),
        scope: match scope(args) {
            Ok(scope) => scope,
            Err(error) => {
                refuse(&error);
                return Ok(exit::FAILURE);
            }
        },
        buffer_size: args.buffer_size,
        server: Server::parse(&args.server),
        samples: samples(args)?,
    };
    let provider = match start(&options) {
        Ok(provider) => provider,
        Err(error) => {
            refuse(&error);
            return Ok(exit::FAILURE);
        }
    };
    report_sources(provider.sources());
    let lacks_branches = lacks_branches(args, provider.sources());
    if lacks_branches {
        crate::say(
            "the branches before samples are not recorded: this machine does not record them",
        );
    }
    send(READY)?;
    // The threads that send end with this process.
    let is_closed = end.recv() == Ok(End::Closed);
    if !is_closed {
        crate::say(
            "later events of the kernel are missing: a signal ends the process trace-kernel",
        );
    }
    let has_all_sources = is_complete(provider.sources()) && !lacks_branches;
    let totals = if is_closed { provider.end() } else { provider.end_early() };
    let is_complete = is_closed && has_all_sources && totals.error.is_none();
    if let Some(error) = &totals.error {
        crate::say(&format!("events of the kernel are missing: {error}"));
    }
    let Totals { scheduling, samples, logs, dropped, lost_samples, throttled, .. } = totals;
    send(&format!(
        "{TOTALS} {scheduling} {samples} {logs} {dropped} {lost_samples} {throttled} {is_complete}"
    ))?;
    Ok(exit::OK)
}

/// Returns the threads that are recorded.
fn scope(args: &KernelHelperArgs) -> Result<Scope, LiveError> {
    Ok(match (&args.cgroup, args.starter) {
        (Some(path), _) => Scope::Cgroup(Arc::new(Cgroup::open(path)?)),
        (None, Some(starter)) => Scope::Command(starter),
        (None, None) if args.threads.is_empty() => Scope::Machine,
        (None, None) => Scope::Threads(args.threads.clone()),
    })
}

/// Returns how samples are taken.
fn samples(args: &KernelHelperArgs) -> Result<SampleOptions> {
    let rate = args.period.map_or(SampleRate::Frequency(args.frequency), SampleRate::Period);
    let event = args.event.as_deref().map(SampledCounter::of_name).transpose()?;
    let event = event.map_or(SampleEvent::CpuTime, SampleEvent::Counter);
    let (call_graph, last_branches) = (args.call_graph, args.last_branches);
    Ok(SampleOptions { event, rate, call_graph, last_branches })
}

/// Returns whether samples lack the branches before them.
fn lacks_branches(args: &KernelHelperArgs, report: &SourceReport) -> bool {
    let has_branches = report.samples.is_some_and(|source| source.has_branches);
    args.last_branches && report.samples.is_some() && !has_branches
}

/// Returns whether all selected data are recorded.
fn is_complete(report: &SourceReport) -> bool {
    let SourceReport { fallback, counters, refused, .. } = report;
    let is_sampled = fallback.as_ref().is_some_and(|it| it.kind == BackendKind::Sampling);
    let has_counters = counters.as_ref().is_none_or(|report| report.refused.is_empty());
    !is_sampled && has_counters && refused.is_empty()
}

fn start(options: &Options) -> Result<KernelProvider, LiveError> {
    let provider = KernelProvider::start(options)?;
    provider.status()?;
    Ok(provider)
}

/// Reports why data cannot be recorded.
fn refuse(error: &LiveError) {
    let remedy = error.remedy().map(|remedy| format!("{HINT}{remedy}"));
    crate::say(&format!("{}{}", describe(error), remedy.unwrap_or_default()));
}

/// Reports the sources of the recording, unless they are the best ones.
fn report_sources(report: &SourceReport) {
    let SourceReport { has_foreign_ids, fallback, samples, counters, refused } = report;
    if *has_foreign_ids {
        crate::say(
            "this pid namespace has other thread ids than the kernel: the processes of threads \
             that exist already are unknown",
        );
    }
    fallback.iter().for_each(self::report);
    samples.iter().for_each(|source| report_samples(*source));
    counters.iter().for_each(report_counters);
    refused.iter().for_each(refuse);
}

/// Reports what samples lack.
fn report_samples(source: SampleSource) {
    let SampleSource { counter, has_kernel, .. } = source;
    if counter == SampleCounter::CpuClock {
        crate::say("samples are taken by a timer: this machine has no counter of CPU cycles");
    }
    if !has_kernel {
        crate::say(&format!(
            "samples lack the time in the kernel{HINT}as root, run: sysctl \
             kernel.perf_event_paranoid=1; or record with CAP_PERFMON"
        ));
    }
}

/// Reports what counters lack.
fn report_counters(report: &CounterReport) {
    let CounterReport { user_only, absent, refused } = report;
    refused.iter().for_each(refuse);
    if !absent.is_empty() {
        crate::say(&format!("this machine has no counters {}", absent.join(", ")));
    }
    if !user_only.is_empty() {
        crate::say(&format!(
            "{} count user mode only{HINT}as root, run: sysctl kernel.perf_event_paranoid=1; or \
             record with CAP_PERFMON",
            user_only.join(", ")
        ));
    }
}

/// Reports the source of the events, what it cannot record, and what permits a better one.
fn report(fallback: &Fallback) {
    let Fallback { kind, refused, unrecorded } = fallback;
    let (source, missing) = (kind.as_str(), kind.missing());
    if !missing.is_empty() {
        crate::say(&format!("the kernel's source is {source}: {missing}{}", reasons(refused)));
    }
    if !unrecorded.is_empty() {
        crate::say(&format!("{}: not recorded without tracefs", unrecorded.join(", ")));
    }
}

/// Returns a hint for each source that cannot be used.
fn reasons(refused: &[LiveError]) -> String {
    let reason = |error: &LiveError| {
        let remedy = error.remedy().map(|remedy| format!(" ({remedy})"));
        format!("{HINT}{}{}", describe(error), remedy.unwrap_or_default())
    };
    refused.iter().map(reason).collect()
}

/// Sends the reason when the helper is to end.
fn watch(end: Sender<End>) -> Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).context("cannot watch for signals")?;
    let on_signal = end.clone();
    spawn(move || {
        if signals.forever().next().is_some() {
            // Fails when the helper ends already.
            let _ended = on_signal.send(End::Signal);
        }
    })?;
    spawn(move || {
        let _closed = io::stdin().lock().read_to_end(&mut Vec::new());
        let _ended = end.send(End::Closed);
    })
}

/// Starts a thread that ends with this process.
fn spawn(run: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().spawn(run).context("cannot start a thread")?;
    Ok(())
}

/// Sends a line to the recorder.
fn send(line: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("the recorder has ended")
}
