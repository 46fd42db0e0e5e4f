//! Arguments of the commands that record and recover.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::args::{
    output_name, parse_attach, parse_call_graph, parse_category, parse_counter, parse_duration,
    parse_kernel_scope, parse_log_version, parse_part_limit, parse_provider_size,
    parse_sample_rate, parse_samples_by, parse_size, parse_time, parse_trigger, parse_trigger_user,
    Attach, KernelScope, Mode, PartLimit, SamplesBy,
};
use trace_kernel::live::{CallGraph, DEFAULT_SOCKET};
use trace_manager::{TriggerRule, TriggerUser};
use trace_xray::layout::Version;

/// Run a program and record its trace
///
/// Records COMMAND and its children. Without COMMAND, records the programs that
/// find the session, until Ctrl-C.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "\
Exit status:
  that of COMMAND, or 125 to 127 if recording or COMMAND failed: see `trace --help`

Defaults of options are in ~/.config/trace/config.toml: see `trace --help`

Examples:
  trace record -- ./server --port 80
  trace record -c 'net,disk*,-disk.cache' -d 1.5s -o short.fxt -- ./server
  trace record --sched -- ./server                              # scheduling of threads
  trace record --samples-by page-faults:100 -- ./server         # who touches new memory
  trace record --samples --call-graph dwarf -- ./server         # stacks, 1000 times a second
  trace record -m circular -b 64M -- ./server                   # the last moments
  trace record --rotate 64M --keep 10 -o app.fxt -- ./server    # app.1.fxt, app.2.fxt, ...
  trace record -m circular --trigger slow:snapshot -- ./server  # before trace_alert!(\"slow\")
  trace record --trigger 'duration:web/request>50ms' -- ./server
  trace record --trigger 'counter:app/queue.depth>100 for 2s:keep=3' -- ./server
  trace record --trigger 'death:run:./upload \"$1\"' --trigger drop:status=9 -- ./server
  trace record --attach server -d 10s                           # runs already; uses the daemon
  trace record --format xray -o logs -- ./server                # for llvm-xray
  trace record --xray --functions 'app::*,-*::fmt' -- ./server  # every function")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// Format of the output. `xray` writes DIR/NAME-PID.xray and DIR/NAME-PID.map for
    /// each process, where -o names the directory DIR; for `llvm-xray` and `trace`
    #[arg(long, value_enum, default_value_t = RecordFormat::Fxt)]
    pub(crate) format: RecordFormat,

    /// With --format xray, leave out functions that are shorter than TIME, such as 5us,
    /// unless an event was recorded in them [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) min_duration: Option<Duration>,

    /// With --format xray, version of the logs, 1 to 5 [default: 5]
    #[arg(long, value_name = "VERSION", value_parser = parse_log_version)]
    pub(crate) log_version: Option<Version>,

    /// Record the functions of COMMAND, of its libraries and children, as far as they are
    /// built with XRay's sleds; category `xray`. Preloads libtrace_xray_runtime.so
    #[arg(long, requires = "command")]
    pub(crate) xray: bool,

    /// With --xray, record only functions whose names match: `*` stands for any letters,
    /// and `-` excludes, which wins [default: all]
    #[arg(long, value_name = "LIST", requires = "xray", allow_hyphen_values = true)]
    pub(crate) functions: Option<String>,

    /// Record the scheduling of threads, with their names: -c kernel:sched,kernel:tasks
    /// beside the selected categories. Without root, wake-ups require a helper (`trace
    /// kernel-server`), and context switches perf events: see `trace doctor`
    #[arg(long)]
    pub(crate) sched: bool,

    /// Sample the call stacks of running threads HZ times a second of CPU time: -c cpu:perf
    /// beside the selected categories [default rate: 1000]. At most
    /// kernel.perf_event_max_sample_rate
    #[arg(long, value_name = "HZ", num_args = 0..=1, require_equals = true,
          default_missing_value = "1000", value_parser = parse_sample_rate)]
    pub(crate) samples: Option<u32>,

    /// Sample at each Nth event of a counter in place of CPU time, such as page-faults:100;
    /// without N so often that there are as many samples a second as --samples sets. The unit of
    /// task-clock is nanoseconds. `trace doctor` lists the counters
    #[arg(long, value_name = "COUNTER[:N]", value_parser = parse_samples_by)]
    pub(crate) samples_by: Option<SamplesBy>,

    /// Count events of threads and CPUs, such as page-faults,context-switches,instructions:
    /// -c cpu:counter:NAME beside the selected categories. `*` stands for any letters, and
    /// `trace doctor` lists the names
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_counter)]
    pub(crate) counters: Vec<String>,

    /// Find the stacks of samples by frame pointers (`fp`), or by unwind tables (`dwarf`, or
    /// `dwarf,BYTES` with the size of the copied part of the stack, a multiple of 8
    /// [default: 8192])
    #[arg(long, value_name = "HOW", default_value = "fp", value_parser = parse_call_graph)]
    pub(crate) call_graph: CallGraph,

    /// Record the branches that the CPU took before each sample, as blobs, on CPUs that record
    /// branches
    #[arg(long)]
    pub(crate) last_branches: bool,

    /// Threads whose kernel events, samples and counters are recorded: those of `command` and its
    /// children, of the `machine`, of processes by their ids, such as 12,34, or in a control group
    /// and those below it: cgroup:PATH [default: command; without COMMAND machine]
    #[arg(long, value_name = "SCOPE", value_parser = parse_kernel_scope)]
    pub(crate) kernel_scope: Option<KernelScope>,

    /// Privileged helper that records scheduling with wake-ups without root: its socket, or a
    /// command with arguments, such as "sudo -n trace kernel-server"
    #[arg(long, value_name = "HELPER", default_value = DEFAULT_SOCKET)]
    pub(crate) kernel_server: String,

    /// Size of the kernel's buffer for each CPU, in bytes or with K, M or G
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = parse_size)]
    pub(crate) kernel_buffer: u64,

    /// Continue after COMMAND has ended, until the last recorded program has;
    /// without COMMAND, stop when all programs that joined have ended
    #[arg(long)]
    pub(crate) wait: bool,

    /// Exit with 3 if records were dropped, there are none, or a category that -c
    /// names has none
    #[arg(long)]
    pub(crate) strict: bool,

    /// Print the summary as JSON on standard output, after the output of COMMAND. To separate
    /// them, redirect that of COMMAND: trace record --json -- sh -c './app >app.log'
    #[arg(long)]
    pub(crate) json: bool,

    /// Print only warnings and errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Show progress on the terminal [default: only without COMMAND, which may write to
    /// the same terminal]
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) progress: bool,

    /// Send SIGUSR1 to COMMAND after each snapshot
    #[arg(long, requires = "command", hide = true)]
    pub(crate) notify_command: bool,

    /// Record programs that run already, with the daemon: those of a process by its id,
    /// those of a name, or `all`. The session ends with this command
    #[arg(
        long,
        value_name = "PID|NAME|all",
        value_parser = parse_attach,
        conflicts_with_all = [
            "command", "sched", "samples", "samples_by", "counters", "kernel_scope", "format",
            "progress", "kernel_buffer", "kernel_server", "call_graph", "last_branches"
        ]
    )]
    pub(crate) attach: Option<Attach>,

    /// Socket where programs find the session, or with --attach of the daemon [default:
    /// private; without COMMAND $TRACE_SOCKET, $XDG_RUNTIME_DIR/trace/manager.sock or
    /// /run/trace/manager.sock]
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// Program to run, and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// A format of recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormat {
    /// An archive in Fuchsia trace format
    Fxt,
    /// Logs of XRay's flight data recorder
    Xray,
}

/// The options of a session, of `trace record` and `trace start`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SessionArgs {
    /// Archive to write. `trace record` compresses it at the end if the name ends in .gz
    /// or .zst. An earlier one is renamed to FILE.old; a recording without records leaves
    /// it as it is. In FILE, %p is the id of this process, %n the name of the COMMAND of
    /// `trace record`, %t the time in UTC, and %% a percent sign
    #[arg(short, long, value_name = "FILE", default_value = "trace.fxt", value_parser = output_name())]
    pub(crate) output: PathBuf,

    /// Select categories: names, `prefix*`, and `-name` or `-prefix*` to exclude,
    /// which wins [default: all]. `PROGRAM/name` is for programs of this name. Records
    /// without a category, such as objects and blobs, are always recorded
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) categories: Vec<String>,

    /// Stop after TIME, such as 1.5s, 200ms or 2m, also the COMMAND of `trace record`
    /// [default: never]. As in `timeout`, a number alone is in seconds. With `trace record --wait`
    /// and no COMMAND, TIME begins when the first program joins; with `trace start`, when the
    /// programs record
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,

    /// Size of each program's buffer, in bytes or with K, M or G. Above 1G, early
    /// events may be missing: init() waits one second at most until the buffer is prepared
    #[arg(short, long, value_name = "SIZE", default_value = "16M", value_parser = parse_size)]
    pub(crate) buffer_size: u64,

    /// Size of the buffer of programs of this name; repeatable
    #[arg(long = "provider-buffer-size", value_name = "NAME:SIZE", value_parser = parse_provider_size)]
    pub(crate) provider_sizes: Vec<(String, u64)>,

    /// Wait at most TIME, up to a minute, for the start of each program. With `trace record`, more
    /// than 5s are also the time that programs have to register
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_time)]
    pub(crate) start_timeout: Duration,

    /// Wait at most TIME, up to a minute, for the end of each program's recording
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_time)]
    pub(crate) stop_timeout: Duration,

    /// Action if a buffer is full
    #[arg(short, long, value_enum, default_value_t = Mode::Streaming)]
    pub(crate) mode: Mode,

    /// Let no other session interrupt a circular or oneshot one, and permit `trace follow`: its
    /// records are copied and checked while they are recorded. Takes memory for a second buffer
    #[arg(long)]
    pub(crate) shared: bool,

    /// Act on a condition; repeatable. CONDITION is alert:NAME (or NAME, with an ACTION),
    /// duration:CATEGORY/NAME>TIME, counter:CATEGORY/NAME.SERIES>NUMBER or <NUMBER, optionally with
    /// ' for TIME', log:LEVEL, drop, death, every:TIME, at:HH:MM in UTC, signal:USR1 or USR2, or
    /// part with --rotate, whose only action is `run`. A duration of a traced future is that of the
    /// operation, not of its polls. Actions: `snapshot` writes the records so far to FILE with
    /// `-snapshot-` and the time in its name, as SIGUSR1 does at once; `stop` ends the recording,
    /// and the COMMAND of `trace record` continues; `exit` or `exit=STATUS` ends both; with
    /// `status=STATUS` `trace record` exits with it if COMMAND succeeds; `run:COMMAND`, which is
    /// last, runs a command of the shell, whose `$1` is the archive's path. `keep=N` and
    /// `min-interval=TIME` are limits of this trigger [default action: snapshot]
    #[arg(long = "trigger", value_name = "CONDITION[:ACTION...]", value_parser = parse_trigger)]
    pub(crate) triggers: Vec<TriggerRule>,

    /// Heed the alerts and conditions of programs of this USER, by number, or of `all`; repeatable.
    /// For sessions of a daemon, which heed programs of their own user and of root
    #[arg(long = "trigger-user", value_name = "USER", requires = "triggers", value_parser = parse_trigger_user)]
    pub(crate) trigger_users: Vec<TriggerUser>,

    /// Cut the archive into parts of about this size or time, such as 64M, 10m or 64M,10m.
    /// A part exceeds the size by the buffers that are saved at once: at most one (-b) of each
    /// program. Part 1 of trace.fxt is trace.1.fxt; numbers follow those of parts that exist
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', value_parser = parse_part_limit)]
    pub(crate) rotate: Vec<PartLimit>,

    /// Keep the newest N snapshots of triggers, and with --rotate the newest N complete
    /// parts of this recording; remove older ones [default: 100 snapshots, all parts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep: Option<u32>,

    /// Start snapshots of triggers at least TIME apart; triggers in between share the
    /// next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    pub(crate) min_interval: Duration,

    /// Remove the oldest snapshots of triggers beyond this total SIZE, but not the
    /// newest [default: unlimited]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_size: Option<u64>,
}

impl SessionArgs {
    /// Returns the size in bytes and the time at which a part of the archive ends.
    pub(crate) fn part_limits(&self) -> (Option<u64>, Option<Duration>) {
        let sizes = self.rotate.iter().filter_map(|limit| match limit {
            PartLimit::Size(size) => Some(*size),
            PartLimit::Time(_) => None,
        });
        let times = self.rotate.iter().filter_map(|limit| match limit {
            PartLimit::Time(time) => Some(*time),
            PartLimit::Size(_) => None,
        });
        (sizes.min(), times.min())
    }
}

/// Recover the archive of a killed program that traced itself, or XRay logs
///
/// The logs of a directory have to be recovered if both `trace record --format xray`
/// and its guard, the process trace-guard, were killed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  TRACE_OUTPUT=app.fxt ./app    # killed
  trace recover app.fxt
  trace recover logs            # of trace record --format xray -o logs
  trace recover logs --log-version 1 --min-duration 5us    # the options of the recording")]
pub(crate) struct RecoverArgs {
    /// File that TRACE_OUTPUT named, or directory of XRay logs
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// In XRay logs, leave out functions that are shorter than TIME, such as 5us, unless an
    /// event was recorded in them [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) min_duration: Option<Duration>,

    /// Version of XRay logs, 1 to 5 [default: 5]
    #[arg(long, value_name = "VERSION", value_parser = parse_log_version)]
    pub(crate) log_version: Option<Version>,
}

/// Let a user record the scheduling of own processes
///
/// Serves one connection on standard input, and requires permission for tracefs: see
/// docs/kernel.md for systemd, sudo and file capabilities.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  systemctl enable --now trace-kernel.socket
  trace record --sched --kernel-server 'sudo -n trace kernel-server' -- ./app
  trace kernel-server <&3    # serve the connection of descriptor 3")]
pub(crate) struct KernelServerArgs {}

/// Record the kernel's events for a session, until standard input ends
#[derive(Debug, Args)]
pub(crate) struct KernelHelperArgs {
    /// Category pattern; repeatable
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) categories: Vec<String>,

    /// Thread to record, with the threads and processes that it starts; repeatable
    #[arg(long = "thread", value_name = "ID")]
    pub(crate) threads: Vec<u64>,

    /// Thread that starts the command. The threads and processes that it starts are recorded
    #[arg(long, value_name = "ID", conflicts_with_all = ["threads", "cgroup"])]
    pub(crate) starter: Option<u64>,

    /// Privileged helper: a socket or a command
    #[arg(long, value_name = "HELPER")]
    pub(crate) server: String,

    /// Control group whose threads are recorded
    #[arg(long, value_name = "PATH", conflicts_with = "threads")]
    pub(crate) cgroup: Option<PathBuf>,

    /// Size of the kernel's buffer for each CPU in bytes
    #[arg(long, value_name = "BYTES")]
    pub(crate) buffer_size: u64,

    /// Samples a second
    #[arg(long, value_name = "HZ", default_value_t = 1000)]
    pub(crate) frequency: u64,

    /// Take a sample after each N events
    #[arg(long, value_name = "N")]
    pub(crate) period: Option<u64>,

    /// Counter whose events decide when samples are taken [default: CPU time]
    #[arg(long, value_name = "COUNTER")]
    pub(crate) event: Option<String>,

    /// Record the branches before samples
    #[arg(long)]
    pub(crate) last_branches: bool,

    /// How the stacks of samples are found
    #[arg(long, value_name = "HOW", value_parser = parse_call_graph)]
    pub(crate) call_graph: CallGraph,
}

/// Complete the archive of a killed `record`; standard input is a socket
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// Directory of the session's socket, to be removed
    #[arg(value_name = "DIR")]
    pub(crate) private: Option<PathBuf>,

    /// File of the session in which the end of the daemon is noted
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,

    /// Archive to be converted to XRay logs
    #[arg(long, value_name = "FILE")]
    pub(crate) logs_of: Option<PathBuf>,

    /// Threshold of the logs in nanoseconds
    #[arg(long, value_name = "NANOS", default_value_t = 0)]
    pub(crate) min_nanos: u64,

    /// Version of the logs
    #[arg(long, value_name = "VERSION", value_parser = parse_log_version)]
    pub(crate) log_version: Option<Version>,
}
