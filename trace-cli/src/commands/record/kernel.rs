//! The process that records the kernel's events.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, Result};
use rustix::event::{poll, PollFd, PollFlags};
use trace_kernel::live::{
    is_kernel_category, SampleEvent, SampleOptions, SampleRate, COUNTER_PREFIX, SAMPLES,
};
use trace_manager::controller::CompanionResult;
use trace_manager::{Manager, SessionConfig, SessionSummary};
use trace_protocol::categories::CategorySet;

use crate::args::{call_graph_name, KernelScope, SamplesBy};
use crate::cli::RecordArgs;
use crate::message::{describe, plural, HINT};

/// The line by which the helper reports that it records.
pub(crate) const READY: &str = "ready";

/// The start of the line with the helper's numbers of scheduling records, of samples, of dropped
/// events, of lost samples and of pauses of sampling, and whether all selected data were recorded.
pub(crate) const TOTALS: &str = "totals";

/// The longest time in which the helper writes its last records and ends.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time in which the helper begins to record.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The categories of `--sched`.
pub(crate) const SCHED: [&str; 2] = ["kernel:sched", "kernel:tasks"];

/// The helper. It ends when this is dropped, or when this process is killed.
#[derive(Debug)]
pub(crate) struct Kernel {
    process: Child,
    lines: BufReader<ChildStdout>,
}

/// The result of recording the kernel's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelResult {
    /// Whether all selected data were recorded until the end.
    pub(crate) is_complete: bool,
    /// The number of scheduling records.
    pub(crate) scheduling: u64,
    /// The number of samples of call stacks.
    pub(crate) samples: u64,
    /// The least number of events that the kernel dropped.
    pub(crate) dropped: u64,
    /// The number of samples that the CPU lost.
    pub(crate) lost_samples: u64,
    /// How often the kernel paused sampling.
    pub(crate) throttled: u64,
    /// Whether a helper of the daemon recorded, which has no options of buffers and samples.
    pub(crate) is_of_daemon: bool,
}

impl From<CompanionResult> for KernelResult {
    fn from(of: CompanionResult) -> Self {
        let CompanionResult { is_complete, scheduling, samples, dropped, lost_samples, throttled } =
            of;
        let is_of_daemon = true;
        Self { is_complete, scheduling, samples, dropped, lost_samples, throttled, is_of_daemon }
    }
}

impl From<KernelResult> for CompanionResult {
    fn from(of: KernelResult) -> Self {
        let KernelResult { is_complete, scheduling, samples, dropped, lost_samples, .. } = of;
        let throttled = of.throttled;
        Self { is_complete, scheduling, samples, dropped, lost_samples, throttled }
    }
}

/// Selects the categories of the session.
pub(super) fn select(config: &mut SessionConfig, args: &RecordArgs) {
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
pub(super) fn is_selected(args: &RecordArgs) -> bool {
    helper_categories(args).iter().any(|pattern| !pattern.starts_with('-'))
}

/// The selected events of the kernel.
pub(super) enum KernelEvents {
    /// The helper records them.
    Recorded(Kernel),
    /// The helper could not record, and has reported the reason.
    Failed,
}

impl KernelEvents {
    /// Starts the helper and waits until it records. The calling thread starts the command.
    /// Recording continues without the helper if it cannot record.
    pub(super) fn start(manager: &Manager, args: &RecordArgs) -> Self {
        Kernel::start(manager, args).map_or(Self::Failed, Self::Recorded)
    }

    /// Ends the helper.
    pub(super) fn end(self) -> KernelResult {
        match self {
            Self::Recorded(kernel) => kernel.end(),
            Self::Failed => KernelResult::default(),
        }
    }
}

impl Kernel {
    /// Starts the helper and waits until it records. The calling thread starts the command. If the
    /// helper cannot record, it has reported the reason, and recording continues without it.
    fn start(manager: &Manager, args: &RecordArgs) -> Option<Self> {
        let started = Self::spawn(manager, args).and_then(Self::wait_until_ready);
        started.unwrap_or_else(|error| {
            crate::say(&format!("cannot trace the kernel: {}", describe(&error)));
            None
        })
    }

    /// Waits until the helper records. Returns `None` if it has reported an error.
    pub(crate) fn wait_until_ready(mut self) -> io::Result<Option<Self>> {
        if !self.wait_for_output(START_TIMEOUT) {
            let reason = "the process trace-kernel did not start in time and was killed";
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        if self.line()? == READY {
            return Ok(Some(self));
        }
        match self.process.wait()?.code() {
            Some(_) => Ok(None),
            None => Err(io::Error::other("the process trace-kernel was killed")),
        }
    }

    fn spawn(manager: &Manager, args: &RecordArgs) -> io::Result<Self> {
        Self::of_process(manager.spawn_machine_provider(&mut helper(&options(args)?))?)
    }

    /// Returns the helper that a process is.
    pub(crate) fn of_process(mut process: Child) -> io::Result<Self> {
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, lines: BufReader::new(stdout) })
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the helper's next line; an empty one if it has ended.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Ends the helper. Reports if it has ended before.
    pub(crate) fn end(mut self) -> KernelResult {
        drop(self.process.stdin.take());
        let reason = match self.wait_for_output(END_TIMEOUT) {
            true => "ended",
            false => "did not end in time and was killed",
        };
        let line = self.line().unwrap_or_default();
        KernelResult::parse(&line).unwrap_or_else(|| {
            let event = "later events of the kernel are missing";
            crate::say(&format!("{event}: the process trace-kernel {reason}"));
            KernelResult::default()
        })
    }

    /// Waits until the helper sends a line or ends. Kills it at the timeout and returns false.
    fn wait_for_output(&mut self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let milliseconds = i32::try_from(rest.as_millis()).unwrap_or(i32::MAX);
            let mut output = [PollFd::new(self.lines.get_ref(), PollFlags::IN)];
            match poll(&mut output, milliseconds) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) => {
                    let _ended = self.process.kill();
                    return false;
                }
                // If waiting fails, reading shows why.
                Ok(_) | Err(_) => return true,
            }
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.wait_for_output(END_TIMEOUT);
        let _status = self.process.wait();
    }
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

/// Fails if the options of samples contradict each other.
pub(super) fn check(args: &RecordArgs) -> Result<()> {
    let has_period = args.samples_by.is_some_and(|by| by.period.is_some());
    if args.samples.is_some() && has_period {
        bail!(
            "--samples is a rate, and --samples-by a number of events{HINT}leave out one of them"
        );
    }
    Ok(())
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
fn options(args: &RecordArgs) -> io::Result<HelperOptions> {
    Ok(HelperOptions {
        categories: helper_categories(args),
        scope: match &args.kernel_scope {
            Some(KernelScope::Cgroup(path)) => HelperScope::Cgroup(path.clone()),
            scope => HelperScope::Threads(threads(args, scope.as_ref())?),
        },
        buffer_size: args.kernel_buffer,
        server: args.kernel_server.clone(),
        samples: samples(args),
    })
}

/// Returns the threads that the helper records; none for all of the machine.
fn threads(args: &RecordArgs, scope: Option<&KernelScope>) -> io::Result<Vec<u64>> {
    match scope {
        Some(KernelScope::Machine | KernelScope::Cgroup(_)) => Ok(Vec::new()),
        Some(KernelScope::Processes(processes)) => {
            let threads: io::Result<Vec<_>> = processes.iter().map(|it| threads_of(*it)).collect();
            Ok(threads?.concat())
        }
        None if args.command.is_empty() => Ok(Vec::new()),
        Some(KernelScope::Command) if args.command.is_empty() => {
            Err(io::Error::other("--kernel-scope command requires a command"))
        }
        // The thread that starts the command.
        Some(KernelScope::Command) | None => {
            Ok(vec![u64::from(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs())])
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

impl KernelResult {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.strip_prefix(TOTALS)?.split_whitespace();
        let mut number = || fields.next()?.parse().ok();
        let (scheduling, samples) = (number()?, number()?);
        let (dropped, lost_samples, throttled) = (number()?, number()?, number()?);
        let (is_complete, is_of_daemon) = (fields.next()?.parse().ok()?, false);
        Some(Self {
            is_complete,
            scheduling,
            samples,
            dropped,
            lost_samples,
            throttled,
            is_of_daemon,
        })
    }

    /// Returns whether all selected events were recorded.
    pub(crate) fn has_all(self) -> bool {
        self.is_complete && self.dropped == 0 && self.lost_samples == 0 && self.throttled == 0
    }

    /// Returns warnings with their hints.
    pub(crate) fn advice(self) -> impl Iterator<Item = String> {
        let samples = self.advice_of_samples().into_iter().chain(self.advice_of_pauses());
        self.advice_of_losses().into_iter().chain(samples)
    }

    /// A larger buffer has no effect on them.
    fn advice_of_samples(self) -> Option<String> {
        let Self { lost_samples, .. } = self;
        let noun = plural(lost_samples, "sample", "samples");
        (lost_samples > 0).then(|| {
            format!(
                "the CPU lost {lost_samples} {noun} before the kernel could write them{HINT}{}",
                self.fewer_samples()
            )
        })
    }

    fn advice_of_pauses(self) -> Option<String> {
        let Self { throttled, .. } = self;
        let noun = plural(throttled, "time", "times");
        (throttled > 0).then(|| {
            format!(
                "the kernel paused sampling {throttled} {noun} because there were more samples \
                 than kernel.perf_event_max_sample_rate permits{HINT}{}",
                self.fewer_samples()
            )
        })
    }

    fn fewer_samples(self) -> &'static str {
        match self.is_of_daemon {
            true => "take fewer samples with trace record --samples",
            false => "take fewer samples (--samples, --samples-by)",
        }
    }

    fn advice_of_losses(self) -> Option<String> {
        let Self { dropped, is_of_daemon, .. } = self;
        let remedy = match is_of_daemon {
            true => {
                "record fewer categories (-c), or use trace record, which has a larger buffer \
                 (--kernel-buffer)"
            }
            false => {
                "use a larger buffer (--kernel-buffer), without root also a higher limit \
                 (ulimit -l), or record fewer categories (-c)"
            }
        };
        let noun = plural(dropped, "event", "events");
        (dropped > 0).then(|| {
            format!(
                "the kernel dropped at least {dropped} {noun} because its buffer was full{HINT}\
                 {remedy}"
            )
        })
    }
}

/// Returns the category patterns that matched no event. Scheduling records and samples have no
/// category, but are those of `kernel:sched` and `cpu:perf`.
pub(super) fn categories_without_events(
    summary: &SessionSummary,
    kernel: Option<KernelResult>,
) -> Vec<String> {
    without_recorded(summary.categories_without_events(), kernel)
}

/// Removes the patterns that match scheduling records or samples, if there are any.
fn without_recorded(mut patterns: Vec<String>, kernel: Option<KernelResult>) -> Vec<String> {
    let Some(KernelResult { scheduling, samples, .. }) = kernel else { return patterns };
    for (number, category) in [(scheduling, "kernel:sched"), (samples, SAMPLES)] {
        if number > 0 {
            patterns.retain(|pattern| !CategorySet::new(&[pattern]).matches(category));
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_helper() {
        let result = KernelResult {
            is_complete: true,
            scheduling: 12,
            samples: 5,
            dropped: 3,
            lost_samples: 4,
            throttled: 2,
            is_of_daemon: false,
        };
        assert_eq!(KernelResult::parse("totals 12 5 3 4 2 true"), Some(result));
        for wrong in ["", "ready", "totals", "totals 1 2 3 4 5", "totals 1 2 3 4 true"] {
            assert_eq!(KernelResult::parse(wrong), None, "{wrong}");
        }
        assert_eq!(KernelResult::parse("totals x 5 3 4 2 true"), None);
        let sampled = KernelResult { is_complete: false, ..result };
        assert_eq!(KernelResult::parse("totals 12 5 3 4 2 false"), Some(sampled));
        let [losses, samples, pauses] = &result.advice().collect::<Vec<_>>()[..] else { panic!() };
        assert!(losses.contains("dropped at least 3 events"));
        assert!(samples.contains("the CPU lost 4 samples") && !samples.contains("buffer"));
        assert!(pauses.contains("paused sampling 2 times"));
        let of_daemon = KernelResult::from(CompanionResult::from(result));
        assert_eq!(KernelResult { is_of_daemon: false, ..of_daemon }, result);
        assert!(of_daemon.advice().all(|advice| advice.contains("trace record")));
        let complete = KernelResult { is_complete: true, ..KernelResult::default() };
        assert_eq!(complete.advice().count(), 0);
        assert!(complete.has_all() && !KernelResult { throttled: 1, ..complete }.has_all());
        assert!(!KernelResult { dropped: 1, ..complete }.has_all());
        assert!(!KernelResult { lost_samples: 1, ..complete }.has_all());
    }

    #[test]
    fn patterns_that_match_records_without_a_category_have_events() {
        let patterns = ["app", "kernel:s*", "kernel:sched", "kernel:irq", "cpu:perf"];
        let patterns = || patterns.map(str::to_owned);
        let without = |scheduling, samples| {
            let kernel = KernelResult { scheduling, samples, ..KernelResult::default() };
            without_recorded(patterns().to_vec(), Some(kernel))
        };
        assert_eq!(without(1, 0), ["app", "kernel:irq", "cpu:perf"]);
        assert_eq!(without(0, 1), patterns()[..4]);
        assert_eq!(without(0, 0), patterns());
    }

    #[test]
    fn a_helper_that_does_not_end_is_killed() {
        let kernel = |program: &str, argument: &str| {
            let mut command = Command::new(program);
            let mut process = command.arg(argument).stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(process.stdout.take().unwrap());
            Kernel { process, lines }
        };
        let mut hanging = kernel("sleep", "infinity");
        assert!(!hanging.wait_for_output(Duration::from_millis(10)));
        assert_eq!(hanging.line().unwrap(), "", "it has ended");
        let mut ready = kernel("echo", "totals 12 5 3 0 0 true");
        assert!(ready.wait_for_output(END_TIMEOUT));
        let expected = KernelResult {
            is_complete: true,
            scheduling: 12,
            samples: 5,
            dropped: 3,
            lost_samples: 0,
            throttled: 0,
            is_of_daemon: false,
        };
        assert_eq!(ready.end(), expected);
    }
}
