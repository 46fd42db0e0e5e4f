//! The process that traces for `trace insn record`.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{anyhow, Context, Result};
use rustix::process::{set_parent_process_death_signal, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use trace_insntrace::pt;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{Engine, Options, TracedRange, Tracer};
use trace_protocol::clock;

use super::files::Files;
use crate::cli::{InsnEngine, InsnRange, InsnRecordArgs};
use crate::message::{counted, describe, HINT};
use crate::{exit, say};

/// How many instructions are executed before their packets are written to the files.
const WRITE_INTERVAL: u64 = 4096;

pub(super) fn run(args: &InsnRecordArgs) -> Result<u8> {
    // The name that `ps` shows. Without this it would be `exe`.
    let _unnamed = fs::write("/proc/self/comm", "trace-insn");
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    let mut signals = Signals::new(signals).context("cannot watch for signals")?;
    // If the command is killed, this is the signal to release the program.
    set_parent_process_death_signal(Some(Signal::Term)).context("cannot watch the command")?;
    let files = Files::create(&args.output)?;
    let mut tracer = match start(args) {
        Ok(tracer) => tracer,
        Err((code, error)) => {
            files.discard();
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
    let engine = match args.engine {
        InsnEngine::Step => Engine::Step,
        InsnEngine::Block => Engine::Block,
        InsnEngine::Hardware => {
            return Err((
                exit::RECORD_FAILED,
                anyhow!("perf records by hardware, not this process"),
            ))
        }
    };
    let options = Options {
        engine,
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
            write(&mut files, tracer)?;
        }
    }
    write(&mut files, tracer)?;
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

fn write(files: &mut Files<'_>, tracer: &mut Tracer) -> Result<()> {
    files.write(tracer.take_notes(), tracer.take_packets())
}
