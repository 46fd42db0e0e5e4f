//! The process that traces for `trace insn record`.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{self, Command};
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, Context, Result};
use rustix::process::{set_parent_process_death_signal, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use trace_insntrace::recording::{Clock, ThreadEnd, Writer};
use trace_insntrace::step::{Options, TracedRange, Tracer};
use trace_insntrace::{pt, recording};
use trace_protocol::archive::{anchor, ClockSample, Identity};
use trace_protocol::clock;
use trace_protocol::message::ClockSource;

use crate::cli::{InsnRange, InsnRecordArgs};
use crate::message::{counted, describe, HINT};
use crate::{exit, say};

/// How many instructions are executed before their packets are written to the files.
const WRITE_INTERVAL: u64 = 4096;

/// How long the rate of the clock is measured.
const MEASURE_CLOCK: Duration = Duration::from_millis(20);

pub(super) fn run(args: &InsnRecordArgs) -> Result<u8> {
    // The name that `ps` shows. Without this it would be `exe`.
    let _unnamed = fs::write("/proc/self/comm", "trace-insn");
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    let mut signals = Signals::new(signals).context("cannot watch for signals")?;
    // If the command is killed, this is the signal to release the program.
    set_parent_process_death_signal(Some(Signal::Term)).context("cannot watch the command")?;
    let files = Files::create(args)?;
    let mut tracer = match start(args) {
        Ok(tracer) => tracer,
        Err((code, error)) => {
            files.writer.discard();
            say(&describe(error.as_ref()));
            return Ok(code);
        }
    };
    let handle = tracer.stop_handle().context("cannot create a process")?;
    thread::spawn(move || {
        signals.forever().next();
        drop(handle);
    });
    record(args, files, &mut tracer)
}

/// Begins tracing. Returns an exit code and a message if that fails.
fn start(args: &InsnRecordArgs) -> Result<Tracer, (u8, anyhow::Error)> {
    let range = args.range.clone().map(|range| match range {
        InsnRange::Addresses(start, end) => TracedRange::Addresses(start, end),
        InsnRange::Symbol(name) => TracedRange::Symbol(name),
    });
    let writer = pt::Writer::new();
    let options = Options {
        writer,
        clock: clock::ticks,
        has_time: true,
        psb_bytes: Options::PSB_BYTES,
        ranges: range.into_iter().collect(),
        budget: args.budget,
    };
    if let Some(pid) = args.attach {
        return Tracer::attach(pid, options).map_err(|error| {
            let hint = match error.kind() {
                ErrorKind::PermissionDenied => {
                    format!("{HINT}the process must be yours, not privileged, and not traced")
                }
                _ => String::new(),
            };
            (exit::FAILURE, anyhow!("cannot trace process {pid}: {error}{hint}"))
        });
    }
    let Some((program, arguments)) = args.program.split_first() else {
        return Err((exit::USAGE, anyhow!("there is no program to run")));
    };
    Tracer::start(Command::new(program).args(arguments), options)
        .map_err(|error| start_error(program, error))
}

fn start_error(program: &OsString, error: std::io::Error) -> (u8, anyhow::Error) {
    let code = match error.kind() {
        ErrorKind::NotFound => exit::NOT_FOUND,
        _ => exit::CANNOT_RUN,
    };
    (code, anyhow!(error).context(format!("cannot run {}", Path::new(program).display())))
}

/// Records until tracing ends. Returns the exit code.
fn record(args: &InsnRecordArgs, mut files: Files<'_>, tracer: &mut Tracer) -> Result<u8> {
    let mut instructions = 0_u64;
    while tracer.step().context("cannot trace")?.is_some() {
        instructions += 1;
        if instructions % WRITE_INTERVAL == 0 {
            files.write(tracer)?;
        }
    }
    files.write(tracer)?;
    files.finish()?;
    let directory = args.output.display();
    let steps = tracer.steps();
    let number = counted(instructions, "instruction", "instructions");
    say(&format!("{number} recorded in {directory}, in {steps} steps"));
    if let Some((number, reason)) = tracer.untraced() {
        let threads = counted(number, "thread", "threads");
        say(&format!("{threads} could not be traced, and continued untraced: {reason}"));
    }
    if args.budget.is_some_and(|budget| steps >= budget) {
        say("the budget is used up: the program continues untraced");
    }
    Ok(match tracer.wait().context("cannot wait for the program")? {
        ThreadEnd::Exited(status) => status as u8,
        ThreadEnd::Killed(signal) => exit::SIGNALLED.wrapping_add(signal as u8),
        ThreadEnd::Detached => exit::OK,
    })
}

/// The files of the recording.
struct Files<'a> {
    args: &'a InsnRecordArgs,
    writer: Writer,
    identity: Identity,
}

impl<'a> Files<'a> {
    fn create(args: &'a InsnRecordArgs) -> Result<Self> {
        let clock = Clock { now: clock::ticks, ticks_per_second: measure_rate()? };
        let writer = Writer::create(&args.output, clock, &processor());
        let identity = Identity {
            id: 1,
            name: "insntrace".into(),
            process_name: "trace-insn".into(),
            pid: process::id(),
            uid: rustix::process::getuid().as_raw(),
            clock: ClockSource::CpuCounter,
        };
        let mut files = Self { args, writer: writer.with_context(|| failed(args))?, identity };
        files.write_anchor()?;
        Ok(files)
    }

    fn write_anchor(&mut self) -> Result<()> {
        let mut words = Vec::new();
        anchor(&mut words, &self.identity, &ClockSample::now());
        self.writer.records(&words).with_context(|| failed(self.args))
    }

    fn write(&mut self, tracer: &mut Tracer) -> Result<()> {
        self.write_all(tracer).with_context(|| failed(self.args))
    }

    fn write_all(&mut self, tracer: &mut Tracer) -> Result<(), recording::Error> {
        for note in tracer.take_notes() {
            self.writer.note(&note)?;
        }
        for (trace, bytes) in tracer.take_packets() {
            self.writer.packets(trace, &bytes)?;
        }
        self.writer.flush()
    }

    fn finish(&mut self) -> Result<()> {
        self.write_anchor()?;
        self.writer.flush().with_context(|| failed(self.args))
    }
}

fn failed(args: &InsnRecordArgs) -> String {
    format!("cannot record in {}", args.output.display())
}

fn measure_rate() -> Result<u64> {
    let first = ClockSample::now();
    thread::sleep(MEASURE_CLOCK);
    let rate = ClockSample::now().rate_since(&first, ClockSource::CpuCounter);
    rate.context("cannot measure the rate of the clock")
}

/// Returns what the kernel reports about the first processor.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = ["vendor_id", "cpu family", "model", "model name", "stepping"];
    let field = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let name = name.trim_end();
        names.contains(&name).then(|| format!("{}:{value}\n", name.replace(' ', "_")))
    };
    text.lines().take_while(|line| !line.is_empty()).filter_map(field).collect()
}
