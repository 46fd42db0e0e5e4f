//! The options of the process that records the kernel's events.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{bail, Result};
use trace_kernel::live::{
    is_kernel_category, Cgroup, SampleEvent, SampleOptions, SampleRate, COUNTER_PREFIX, SAMPLES,
};
use trace_manager::SessionConfig;

use crate::args::{call_graph_name, KernelScope, SamplesBy};
use crate::cli::RecordArgs;
use crate::message::{describe, HINT};

/// The categories of `--sched`.
pub(crate) const SCHED: [&str; 2] = ["kernel:sched", "kernel:tasks"];

/// Selects the categories of the session.
pub(crate) fn select(config: &mut SessionConfig, args: &RecordArgs) {
    let mut categories = args.session.categories.clone();
    // Without inclusions, all categories are selected.
    if categories.iter().any(|pattern| !pattern.starts_with('-')) {
        categories.extend(by_option(args));
    }
    config.select(&categories);
}

/// Returns the categories of the helper, with exclusions. It has no inclusions if the kernel's
/// events are not selected.
fn helper_categories(args: &RecordArgs) -> Vec<String> {
    let mut categories = of_kernel(&args.session.categories);
    categories.extend(by_option(args));
    categories
}

/// Returns the patterns for the helper, with exclusions.
pub(crate) fn of_kernel(patterns: &[String]) -> Vec<String> {
    let is_of_kernel = |pattern: &&String| pattern.starts_with('-') || is_kernel_category(pattern);
    patterns.iter().filter(is_of_kernel).cloned().collect()
}

/// Returns the categories that options of their own select.
fn by_option(args: &RecordArgs) -> impl Iterator<Item = String> + '_ {
    let sched = SCHED.into_iter().filter(|_| args.sched);
    let is_sampled = args.samples.is_some() || args.samples_by.is_some() || args.last_branches;
    let fixed = sched.chain(is_sampled.then_some(SAMPLES)).map(str::to_owned);
    fixed.chain(args.counters.iter().map(|name| format!("{COUNTER_PREFIX}{name}")))
}

/// Returns whether events of the kernel are selected.
pub(crate) fn is_selected(args: &RecordArgs) -> bool {
    helper_categories(args).iter().any(|pattern| !pattern.starts_with('-'))
}

/// Returns whether nothing but events of the kernel is selected.
pub(crate) fn is_only(args: &RecordArgs) -> bool {
    let mut selected = args.session.categories.iter().filter(|pattern| !pattern.starts_with('-'));
    let is_all = args.session.categories.iter().all(|pattern| pattern.starts_with('-'));
    !is_all && selected.all(|pattern| is_kernel_category(pattern))
}

/// What a helper records.
#[derive(Debug)]
pub(crate) struct HelperOptions {
    /// Category patterns of the kernel.
    pub(crate) categories: Vec<String>,
    pub(crate) scope: HelperScope,
    /// The size of the kernel's buffer for each CPU in bytes.
    pub(crate) buffer_size: u64,
    /// The privileged helper: a socket or a command.
    pub(crate) server: String,
    pub(crate) samples: SampleOptions,
}

/// The threads that a helper records.
#[derive(Debug)]
pub(crate) enum HelperScope {
    /// These, with those that they start; all of the machine if there are none.
    Threads(Vec<u64>),
    /// Those of the command that this thread starts.
    Command(u64),
    /// Those in a control group.
    Cgroup(PathBuf),
}

/// Returns the command of a helper with these options.
pub(crate) fn helper(options: &HelperOptions) -> Command {
    let HelperOptions { categories, scope, buffer_size, server, samples } = options;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("trace-kernel").arg("kernel-helper");
    command.arg(format!("--buffer-size={buffer_size}")).arg(format!("--server={server}"));
    command.args(sample_arguments(samples));
    command.arg(format!("--call-graph={}", call_graph_name(samples.call_graph)));
    command.args(categories.iter().map(|pattern| format!("--categories={pattern}")));
    match scope {
        HelperScope::Threads(threads) => {
            command.args(threads.iter().map(|thread| format!("--thread={thread}")));
        }
        HelperScope::Command(starter) => {
            command.arg(format!("--starter={starter}"));
        }
        HelperScope::Cgroup(path) => {
            command.arg("--cgroup").arg(path);
        }
    }
    command.env_remove("TRACE_OUTPUT").stdin(Stdio::piped()).stdout(Stdio::piped());
    // Signals to this command's process group, such as Ctrl-C, must not reach the helper.
    command.process_group(0);
    command
}

/// Returns the arguments that select samples.
fn sample_arguments(samples: &SampleOptions) -> Vec<String> {
    let rate = match samples.rate {
        SampleRate::Frequency(frequency) => format!("--frequency={frequency}"),
        SampleRate::Period(period) => format!("--period={period}"),
    };
    let event = match samples.event {
        SampleEvent::CpuTime => None,
        SampleEvent::Counter(counter) => Some(format!("--event={}", counter.name())),
    };
    let branches = samples.last_branches.then(|| "--last-branches".to_owned());
    [rate].into_iter().chain(event).chain(branches).collect()
}

/// Fails if the options of samples contradict each other, or the scope does not exist.
pub(crate) fn check(args: &RecordArgs) -> Result<()> {
    let has_period = args.samples_by.is_some_and(|by| by.period.is_some());
    if args.samples.is_some() && has_period {
        bail!(
            "--samples is a rate, and --samples-by a number of events{HINT}leave out one of them"
        );
    }
    if is_selected(args) {
        check_scope(args.kernel_scope.as_ref())?;
    }
    Ok(())
}

fn check_scope(scope: Option<&KernelScope>) -> Result<()> {
    match scope {
        Some(KernelScope::Cgroup(path)) => match Cgroup::open(path) {
            Ok(_group) => {}
            Err(error) => bail!("{}", describe(&error)),
        },
        Some(KernelScope::Processes(processes)) => {
            processes.iter().try_for_each(|process| threads_of(*process).map(drop))?;
        }
        Some(KernelScope::Machine | KernelScope::Command) | None => {}
    }
    Ok(())
}

/// Returns the hint if the value of `--samples` is taken for the command.
pub(crate) fn hint_of_samples(args: &RecordArgs) -> Option<String> {
    let command = args.command.first().filter(|_| args.samples.is_some())?.to_str()?;
    let rate: u32 = command.parse().ok()?;
    Some(format!("{HINT}the value of --samples has an equals sign: --samples={rate}"))
}

/// Returns how samples are taken.
fn samples(args: &RecordArgs) -> SampleOptions {
    let (call_graph, last_branches) = (args.call_graph, args.last_branches);
    let default = SampleOptions { call_graph, last_branches, ..SampleOptions::default() };
    let by_time = args.samples.map(|rate| SampleRate::Frequency(u64::from(rate)));
    let Some(SamplesBy { counter, period }) = args.samples_by else {
        return SampleOptions { rate: by_time.unwrap_or(default.rate), ..default };
    };
    let rate = period.map(SampleRate::Period).or(by_time).unwrap_or(default.rate);
    SampleOptions { event: SampleEvent::Counter(counter), rate, ..default }
}

/// Returns the options of the helper.
pub(super) fn options(args: &RecordArgs) -> io::Result<HelperOptions> {
    Ok(HelperOptions {
        categories: helper_categories(args),
        scope: scope(args)?,
        buffer_size: args.kernel_buffer,
        server: args.kernel_server.clone(),
        samples: samples(args),
    })
}

/// Returns the threads that the helper records. The calling thread starts the command.
fn scope(args: &RecordArgs) -> io::Result<HelperScope> {
    match &args.kernel_scope {
        Some(KernelScope::Machine) => Ok(HelperScope::Threads(Vec::new())),
        Some(KernelScope::Cgroup(path)) => Ok(HelperScope::Cgroup(path.clone())),
        Some(KernelScope::Processes(processes)) => {
            let threads: io::Result<Vec<_>> = processes.iter().map(|it| threads_of(*it)).collect();
            Ok(HelperScope::Threads(threads?.concat()))
        }
        None if args.command.is_empty() => Ok(HelperScope::Threads(Vec::new())),
        Some(KernelScope::Command) if args.command.is_empty() => {
            Err(io::Error::other("--kernel-scope command requires a command"))
        }
        Some(KernelScope::Command) | None => {
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            Ok(HelperScope::Command(u64::from(thread.unsigned_abs())))
        }
    }
}

/// Returns the threads of a process.
fn threads_of(process: u64) -> io::Result<Vec<u64>> {
    match trace_kernel::live::threads_of(process) {
        threads if threads.is_empty() => {
            Err(io::Error::other(format!("there is no process {process}")))
        }
        threads => Ok(threads),
    }
}
