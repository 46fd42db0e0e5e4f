//! `trace insn record --engine hardware`: Intel PT of the processor.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, bail, Context, Result};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{kill_process, pidfd_open, Pid, PidfdFlags, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use trace_insntrace::controller::{BufferConfig, Losses, Status, PAGE_BYTES};
use trace_insntrace::hardware::{
    code_of_file, code_of_process, Pmu, RecordError, Recorder, Settings, Traced,
};
use trace_insntrace::recording::Mapping;
use trace_insntrace::step::IgnoredSignals;
use trace_insntrace::symbols;

use super::engine_process::start_error;
use super::files::Files;
use super::imported::report_missing;
use super::report::indirect;
use super::session::Session;
use super::snapshot;
use crate::cli::{InsnMode, InsnRange, InsnRecordArgs, InsnSnapshot};
use crate::message::{counted, describe, HINT};
use crate::{exit, ignored_signals, say};

/// How often the memory that the kernel writes is read, if the kernel does not report packets.
const TICK: Duration = Duration::from_millis(50);

/// The size of the AUX area of each CPU in pages, as a power of two: 4 MiB, as that of perf.
const AREA_ORDER: u32 = 10;

/// The largest chunk of a buffer in pages, as a power of two.
const CHUNK_ORDER: u32 = 8;

pub(super) fn run(args: &InsnRecordArgs) -> Result<u8> {
    run_with(args, IgnoredSignals::of_this_process())
}

/// Records a program that ignores these signals, as the caller of the command does.
pub(super) fn run_with(args: &InsnRecordArgs, signals: IgnoredSignals) -> Result<u8> {
    match record(args, signals) {
        Ok(code) => Ok(code),
        Err(error) => {
            say(&describe(error.as_ref()));
            Ok(exit::RECORD_FAILED)
        }
    }
}

/// What is recorded.
enum Program {
    /// A command that was started.
    Started(Child),
    /// A process that ran before. The descriptor is its own, whatever process gets its id later.
    Attached(OwnedFd),
}

/// The signals to this process.
struct Requests {
    /// Whether recording is to end.
    end: Arc<AtomicBool>,
    snapshots: snapshot::Requests,
    /// Those that the program gets, until it has started.
    of_program: Option<Signals>,
}

fn record(args: &InsnRecordArgs, signals: IgnoredSignals) -> Result<u8> {
    check(args)?;
    let pmu = Pmu::find().map_err(|missing| {
        anyhow!("cannot trace by hardware: {missing}{HINT}--engine step traces on any processor")
    })?;
    let settings = settings(args, &pmu)?;
    let mut requests = Requests::watch()?;
    let session = Session::start(args, &requests.snapshots)?;
    let mut files = match args.snapshot.is_empty() {
        true => Some(Files::create(&args.output)?),
        false => None,
    };
    // The packets of the areas are in files there.
    fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot create {}", args.output.display()))?;
    let (mut recorder, mut program) = match start(args, &pmu, &settings, signals) {
        Ok(started) => started,
        Err((code, error)) => {
            session.discard();
            files.into_iter().for_each(Files::discard);
            // It stays if it has other files. The reason for the end is the error to report.
            let _ = fs::remove_dir(&args.output);
            say(&describe(error.as_ref()));
            return Ok(code);
        }
    };
    requests.pass_on(&program);
    let mut snapshots = Snapshots { args, answered: 0, written: 0 };
    let followed = follow(&requests, &mut recorder, &mut program, &mut snapshots);
    // Whatever has failed: tracing is off, and what there is is written.
    let stopped = recorder.stop().map_err(Into::into);
    let written = match &mut files {
        Some(files) => write(files, &args.output, &mut recorder),
        None => match &followed {
            Ok(has_ended) => {
                let (known, ended) = session.end(args, *has_ended);
                snapshots.finish(&requests, known, &mut recorder).and(ended)
            }
            Err(_) => Ok(()),
        },
    };
    let reported = recorder.losses().context("cannot count what is missing");
    let reported = reported.map(|losses| report_losses(losses, ""));
    let code = program.status();
    followed.and(stopped).and(written).and(reported).and(code)
}

/// Records until the program ends, or the recording is to. Returns whether the program has ended.
fn follow(
    requests: &Requests,
    recorder: &mut Recorder,
    program: &mut Program,
    snapshots: &mut Snapshots<'_>,
) -> Result<bool> {
    while !requests.end.load(Ordering::Relaxed) {
        if !program.runs()? {
            return Ok(true);
        }
        recorder.take(TICK)?;
        let number = requests.snapshots.take();
        if let Some(number) = number.filter(|_| !snapshots.args.snapshot.is_empty()) {
            recorder.stop()?;
            snapshots.answered += number;
            snapshots.write(recorder)?;
            recorder.resume()?;
        }
    }
    Ok(false)
}

/// Writes a recording of what was traced. Tracing is off.
fn write(files: &mut Files<'_>, directory: &Path, recorder: &mut Recorder) -> Result<()> {
    let imported = recorder.write(files.recording())?;
    files.finish()?;
    report_missing(&imported, "the recording");
    say(&format!("recorded in {}", directory.display()));
    Ok(())
}

/// Refuses what the processor cannot do.
fn check(args: &InsnRecordArgs) -> Result<()> {
    if args.function.is_some() || args.in_scope.is_some() || args.budget.is_some() {
        let hint = "they require --engine step, and --budget --engine step or block";
        bail!("--engine hardware has no --function, --in-scope and --budget{HINT}{hint}");
    }
    if args.snapshot.iter().any(|it| matches!(it, InsnSnapshot::Function(_))) {
        bail!(
            "--engine hardware has no --snapshot function:SYMBOL{HINT}use --engine step or block"
        );
    }
    if args.mode == InsnMode::Cpu && args.range.is_some() {
        bail!(
            "--mode cpu has no --range{HINT}the kernel refuses ranges of a file on all CPUs; use \
             --mode thread"
        );
    }
    if args.mode == InsnMode::Cpu && args.attach.is_some() {
        bail!("--mode cpu records all processes{HINT}omit --attach, or use --mode thread");
    }
    Ok(())
}

/// Begins tracing. Returns an exit code and a message if that fails.
fn start(
    args: &InsnRecordArgs,
    pmu: &Pmu,
    settings: &Settings,
    signals: IgnoredSignals,
) -> Result<(Recorder, Program), (u8, anyhow::Error)> {
    let (failed, directory) = (|error| refused(args, error), &args.output);
    if let Some(pid) = args.attach {
        let program = Program::attached(pid).map_err(RecordError::Refused).map_err(failed)?;
        let traced = Traced::Process(pid);
        let recorder = Recorder::start(pmu, settings, traced, directory).map_err(failed)?;
        return Ok((recorder, program));
    }
    let Some((program, arguments)) = args.program.split_first() else {
        return Err((exit::USAGE, anyhow!("there is no program to run")));
    };
    let mut command = Command::new(program);
    signals.pass_to(command.args(arguments));
    match args.mode {
        InsnMode::Thread => {
            let (recorder, child) =
                Recorder::run(pmu, settings, &mut command, directory).map_err(failed)?;
            Ok((recorder, Program::Started(child)))
        }
        InsnMode::Cpu => {
            let recorder =
                Recorder::start(pmu, settings, Traced::Cpus, directory).map_err(failed)?;
            let child = command.spawn().map_err(|error| start_error(program, error))?;
            Ok((recorder, Program::Started(child)))
        }
    }
}

/// Returns the exit code and the error of a recording that did not begin.
fn refused(args: &InsnRecordArgs, error: RecordError) -> (u8, anyhow::Error) {
    let refusal = match (error, args.program.first()) {
        (RecordError::Program(error), Some(program)) => return start_error(program, error),
        (RecordError::Refused(refusal), _) => refusal,
        (error, _) => {
            return (exit::RECORD_FAILED, anyhow!(error).context("cannot trace by hardware"))
        }
    };
    let hint = match (refusal.kind(), args.mode) {
        (ErrorKind::PermissionDenied, InsnMode::Cpu) => {
            "all CPUs require root, CAP_PERFMON or kernel.perf_event_paranoid=-1"
        }
        (ErrorKind::PermissionDenied, InsnMode::Thread) => {
            "the process must be yours, and kernel.perf_event_paranoid at most 2"
        }
        _ => "",
    };
    let hint = if hint.is_empty() { String::new() } else { format!("{HINT}{hint}") };
    let error = anyhow!(RecordError::Refused(refusal));
    (exit::RECORD_FAILED, error.context(format!("cannot trace by hardware{hint}")))
}

/// Returns the arguments of the event.
fn settings(args: &InsnRecordArgs, pmu: &Pmu) -> Result<Settings> {
    let (ranges, mappings) = match &args.range {
        None => ([(0, 0); 2], Vec::new()),
        Some(range) => {
            let mappings = code(args)?;
            (resolve(range, &mappings, args)?, mappings)
        }
    };
    let pages = pages(args);
    let chunk_order = pages.trailing_zeros().min(CHUNK_ORDER);
    let config = BufferConfig {
        num_chunks: pages >> chunk_order,
        chunk_order,
        is_circular: !args.snapshot.is_empty(),
        ctl: pmu.recording_ctl(),
        address_space_match: 0,
        address_ranges: ranges,
    };
    Settings::new(pmu, &config, &mappings).map_err(|error| match error {
        Status::NotSupported => anyhow!(
            "the processor or the kernel does not support these options{HINT}a --range is within \
             the code of one file"
        ),
        error => anyhow!("cannot trace by hardware: {error}"),
    })
}

/// Returns the pages of the area of each CPU, a power of two.
fn pages(args: &InsnRecordArgs) -> u32 {
    match args.snapshot.is_empty() {
        true => 1 << AREA_ORDER,
        false => {
            let bytes = u64::from(args.ring_kib()) << 10;
            bytes.div_ceil(PAGE_BYTES).next_power_of_two().min(1 << 16) as u32
        }
    }
}

/// Returns the code to which a range refers.
fn code(args: &InsnRecordArgs) -> Result<Vec<Mapping>> {
    let file = match (args.attach, args.program.first()) {
        (Some(pid), _) => return code_of_process(pid).context("cannot read its mappings"),
        (None, Some(program)) => find_program(Path::new(program)),
        (None, None) => bail!("there is no program to run"),
    };
    code_of_file(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// Finds a program as the shell does.
fn find_program(program: &Path) -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let in_paths = std::env::split_paths(&paths).map(|path| path.join(program));
    let is_name = program.components().count() == 1;
    in_paths.filter(|_| is_name).find(|path| path.is_file()).unwrap_or_else(|| program.to_owned())
}

/// Returns the addresses of a range, of which the processor has two.
fn resolve(
    range: &InsnRange,
    mappings: &[Mapping],
    args: &InsnRecordArgs,
) -> Result<[(u64, u64); 2]> {
    match range {
        InsnRange::Symbol(name) => {
            let found = mappings.iter().map(|mapping| symbols::find(mapping, name));
            let (mut addresses, mut is_indirect) = (Vec::new(), false);
            for found in found {
                addresses.extend(found.addresses);
                is_indirect |= found.is_indirect;
            }
            match addresses[..] {
                [] if is_indirect => Err(anyhow!(indirect(name))),
                [] => Err(anyhow!("the program has no function {name}")),
                [one] => Ok([one, (0, 0)]),
                [one, other] => Ok([one, other]),
                _ => Err(anyhow!(
                    "the program has {} functions {name}, and the processor has two \
                     ranges",
                    addresses.len()
                )),
            }
        }
        InsnRange::Addresses(..) if args.attach.is_none() => {
            bail!("the addresses of a program that starts are not known{HINT}use --range SYMBOL")
        }
        InsnRange::Addresses(start, end) => Ok([(*start, *end), (0, 0)]),
    }
}

/// The snapshots so far.
struct Snapshots<'a> {
    args: &'a InsnRecordArgs,
    /// How many requests of the session were answered.
    answered: u64,
    written: u64,
}

impl Snapshots<'_> {
    /// Writes the next one. Tracing is off.
    fn write(&mut self, recorder: &mut Recorder) -> Result<()> {
        self.written += 1;
        let directory = self.args.output.join(format!("snapshot-{}", self.written));
        write(&mut Files::create(&directory)?, &directory, recorder)
    }

    /// Writes a snapshot for a condition that the program met last, and reports their number.
    /// `known` is the number of requests of the session. Tracing is off.
    fn finish(&mut self, requests: &Requests, known: u64, recorder: &mut Recorder) -> Result<()> {
        if requests.snapshots.take().is_some() || self.answered < known {
            self.write(recorder)?;
        }
        say(&counted(self.written, "snapshot", "snapshots"));
        Ok(())
    }
}

/// Reports what is missing of the processor's trace. `of` precedes the messages.
pub(super) fn report_losses(losses: Losses, of: &str) {
    missing(losses).for_each(|missing| say(&format!("{of}{missing}")));
}

/// Returns a text for each kind of data that is missing of the processor's trace.
pub(super) fn missing(losses: Losses) -> impl Iterator<Item = String> {
    let places = losses.truncated + losses.gaps;
    let packets = (places > 0).then(|| {
        let places = counted(places, "place", "places");
        format!(
            "packets are missing at {places}: the processor wrote them faster than they were read"
        )
    });
    let records = (losses.records > 0).then(|| {
        let records = counted(losses.records, "record", "records");
        format!("the kernel lost {records} of mappings and switches: code may be missing")
    });
    packets.into_iter().chain(records)
}

impl Requests {
    fn watch() -> Result<Self> {
        let of_program = Signals::new([SIGUSR2]).context("cannot watch for signals")?;
        let (end, snapshots) = (Arc::default(), snapshot::Requests::default());
        let requests = Self { end, snapshots, of_program: Some(of_program) };
        for signal in ignored_signals::to_handle(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT]) {
            let watched = flag::register(signal, Arc::clone(&requests.end));
            watched.context("cannot watch for signals")?;
        }
        let mut of_snapshots = Signals::new([SIGUSR1]).context("cannot watch for signals")?;
        let snapshots = requests.snapshots.clone();
        thread::spawn(move || of_snapshots.forever().for_each(|_| snapshots.add_signal()));
        Ok(requests)
    }

    /// Passes signals on to a program that was started: `trace record` forwards them to its
    /// command, and the program is meant.
    fn pass_on(&mut self, program: &Program) {
        let (Some(mut signals), Program::Started(child)) = (self.of_program.take(), program) else {
            return;
        };
        let pid = Pid::from_child(child);
        thread::spawn(move || {
            for _ in signals.forever() {
                // It fails only if the program has ended.
                let _ = kill_process(pid, Signal::Usr2);
            }
        });
    }
}

impl Program {
    /// Fails if there is no such process.
    fn attached(pid: u32) -> io::Result<Self> {
        let raw = pid.try_into().ok().and_then(Pid::from_raw);
        let process = pidfd_open(raw.ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
        Ok(Self::Attached(process))
    }

    fn runs(&mut self) -> io::Result<bool> {
        match self {
            Self::Started(child) => child.try_wait().map(|status| status.is_none()),
            Self::Attached(process) => {
                // It is readable when all threads have ended.
                let mut polled = [PollFd::new(process, PollFlags::IN)];
                poll(&mut polled, 0).or_else(|error| match error {
                    Errno::INTR => Ok(0),
                    error => Err(error),
                })?;
                Ok(!polled[0].revents().contains(PollFlags::IN))
            }
        }
    }

    /// Waits for a command, which continues untraced. Returns the exit code.
    fn status(self) -> Result<u8> {
        let Self::Started(mut child) = self else { return Ok(exit::OK) };
        let status = child.wait().context("cannot wait for the program")?;
        Ok(exit::of_command(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attached_process_runs_until_its_end() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let mut program = Program::attached(child.id()).unwrap();
        assert!(program.runs().unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!program.runs().unwrap());
    }
}
