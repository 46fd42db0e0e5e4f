//! The process that traces for `trace insn record`.

use std::fs;
use std::io::ErrorKind;
use std::process::Command;
use std::thread;

use anyhow::{anyhow, bail, Context, Result};
use rustix::process::{
    getppid, kill_process, set_dumpable_behavior, set_parent_process_death_signal,
    DumpableBehavior, Pid, Signal,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use trace_insntrace::pt;
use trace_insntrace::recording::ThreadEnd;
use trace_insntrace::step::{
    Engine, Executed, IgnoredSignals, Options, Traced, TracedCalls, TracedRange, Tracer,
};
use trace_protocol::clock;

use super::engine_process::start_error;
use super::files::Files;
use super::hardware;
use super::record::failed;
use super::report::report;
use super::session::Session;
use super::snapshot::{Requests, Snapshots};
use crate::cli::{InsnEngine, InsnEngineArgs, InsnRange, InsnRecordArgs};
use crate::message::{describe, HINT};
use crate::{exit, ignored_signals, say};

/// How many instructions are executed before their packets are written to the files.
const WRITE_INTERVAL: u64 = 4096;

pub(super) fn run(args: &InsnEngineArgs) -> Result<u8> {
    let signals = IgnoredSignals::from_bits(args.ignored);
    Ok(trace(&args.record, args.parent, signals).unwrap_or_else(|error| failed(&error)))
}

/// `of_caller` are the signals that the program ignores, as the caller of the command does.
fn trace(args: &InsnRecordArgs, parent: u32, of_caller: IgnoredSignals) -> Result<u8> {
    // The name that `ps` shows. Without this it would be `exe`.
    let _unnamed = fs::write("/proc/self/comm", "trace-insn");
    let engine = match args.engine {
        InsnEngine::Step => Engine::Step,
        InsnEngine::Block => Engine::Block,
        InsnEngine::Hardware => {
            end_with(parent)?;
            return hardware::run_with(args, of_caller);
        }
    };
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];
    let signals = ignored_signals::to_handle(&signals);
    let signals = Signals::new(signals).context("cannot watch for signals")?;
    end_with(parent)?;
    let requests = Requests::default();
    let session = Session::start(args, &requests)?;
    let output = match Output::create(args, &requests) {
        Ok(output) => output,
        Err(error) => {
            session.discard();
            return Err(error);
        }
    };
    let mut tracer = match start(args, engine, of_caller) {
        Ok(tracer) => tracer,
        Err((code, error)) => {
            session.discard();
            output.discard();
            say(&describe(error.as_ref()));
            return Ok(code);
        }
    };
    if let Some(of) = traced(args) {
        tracer.trace_calls(TracedCalls { of, nth: args.nth, has_breakpoints: true });
    }
    let ready = refuse_tracers().and_then(|()| serve_signals(signals, &mut tracer, requests));
    record(args, session, output, &mut tracer, ready)
}

/// Starts the thread that handles signals: they request snapshots, are passed on to the program, or
/// end the recording.
fn serve_signals(mut signals: Signals, tracer: &mut Tracer, requests: Requests) -> Result<()> {
    let handle = tracer.stop_handle().context("cannot create a process")?;
    let program = tracer.child_mut().map(|child| Pid::from_child(child));
    let serve = move || {
        for signal in signals.forever() {
            match signal {
                SIGUSR1 => requests.add_signal(),
                // `trace record` forwards it to its command, and the program is meant. It fails
                // only if the program has ended.
                SIGUSR2 => drop(program.map(|pid| kill_process(pid, Signal::Usr2))),
                _ => break,
            }
        }
        drop(handle);
    };
    let thread = thread::Builder::new().name("trace-signals".to_owned()).spawn(serve);
    thread.map(drop).context("cannot start a thread")
}

/// Watches the command that has started this process. If it is killed, SIGTERM releases the
/// program.
pub(super) fn end_with(parent: u32) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::Term)).context("cannot watch the command")?;
    // There is no signal if it was killed before.
    let found = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if found != Some(parent) {
        bail!("the command that has started this process has ended");
    }
    Ok(())
}

/// Makes the kernel refuse tracers of this process, unless they have CAP_SYS_PTRACE. A program that
/// stopped its tracer would wait for itself.
///
/// Children have this, too, until they execute a program, and cannot be traced until then.
pub(super) fn refuse_tracers() -> Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable).context("cannot refuse tracers")
}

/// Returns the parts of the program that are traced, or `None` for all of it.
fn traced(args: &InsnRecordArgs) -> Option<Traced> {
    let scopes = args.in_scope.as_ref().map(|_| Traced::Scopes);
    args.function.clone().map(Traced::Function).or(scopes)
}

/// Begins tracing. Returns an exit code and a message if that fails.
fn start(
    args: &InsnRecordArgs,
    engine: Engine,
    signals: IgnoredSignals,
) -> Result<Tracer, (u8, anyhow::Error)> {
    let range = args.range.clone().map(|range| match range {
        InsnRange::Addresses(start, end) => TracedRange::Addresses(start, end),
        InsnRange::Symbol(name) => TracedRange::Symbol(name.as_str().into()),
    });
    let writer = pt::Writer::new();
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
            (exit::RECORD_FAILED, anyhow!("cannot trace process {pid}: {error}{hint}"))
        });
    }
    let Some((program, arguments)) = args.program.split_first() else {
        return Err((exit::USAGE, anyhow!("there is no program to run")));
    };
    let mut command = Command::new(program);
    signals.pass_to(command.args(arguments));
    Tracer::start(&mut command, options).map_err(|error| start_error(program, error))
}

/// Records until tracing ends. Returns the exit code.
///
/// If recording fails, the program continues untraced, and what was recorded is kept.
fn record(
    args: &InsnRecordArgs,
    session: Session,
    mut output: Output<'_>,
    tracer: &mut Tracer,
    ready: Result<()>,
) -> Result<u8> {
    let mut instructions = 0;
    let recorded = ready.and_then(|()| record_all(tracer, &mut output, &mut instructions));
    let stopped = tracer.stop().context("cannot release the program");
    let (requests, ended) = session.end(args, tracer.child_end().is_some());
    let finished = match &recorded {
        Ok(()) => output.finish(tracer, requests),
        Err(_) => output.close(),
    };
    let result = recorded.and(stopped).and(finished).and(ended);
    match &result {
        Ok(()) => report(args, tracer, instructions),
        Err(error) => say(&describe(error.as_ref())),
    }
    let end = tracer.wait().context("cannot wait for the program")?;
    Ok(match (result, end) {
        (Err(_), _) => exit::RECORD_FAILED,
        (_, ThreadEnd::Exited(status)) => status as u8,
        (_, ThreadEnd::Killed(signal)) => exit::SIGNALLED.wrapping_add(signal as u8),
        (_, ThreadEnd::Detached) => exit::OK,
    })
}

/// Takes the packets of all instructions until tracing ends, and counts them.
fn record_all(tracer: &mut Tracer, output: &mut Output<'_>, instructions: &mut u64) -> Result<()> {
    while let Some(executed) = tracer.step().context("cannot trace")? {
        *instructions += 1;
        if !output.executed(tracer, executed)? {
            tracer.stop().context("cannot release the program")?;
        }
        if *instructions % WRITE_INTERVAL == 0 {
            output.write(tracer)?;
        }
    }
    Ok(())
}

/// Where packets go.
enum Output<'a> {
    Files(Box<Files<'a>>),
    Snapshots(Box<Snapshots<'a>>),
}

impl<'a> Output<'a> {
    fn create(args: &'a InsnRecordArgs, requests: &Requests) -> Result<Self> {
        match Snapshots::new(args, requests)? {
            Some(snapshots) => Ok(Self::Snapshots(Box::new(snapshots))),
            None => Files::create(&args.output).map(|files| Self::Files(Box::new(files))),
        }
    }

    fn discard(self) {
        match self {
            Self::Files(files) => files.discard(),
            Self::Snapshots(snapshots) => snapshots.discard(),
        }
    }

    /// An instruction was executed. Returns whether tracing goes on.
    fn executed(&mut self, tracer: &mut Tracer, executed: Executed) -> Result<bool> {
        match self {
            Self::Files(_) => Ok(true),
            Self::Snapshots(snapshots) => snapshots.executed(tracer, executed),
        }
    }

    /// Takes what the tracer has.
    fn write(&mut self, tracer: &mut Tracer) -> Result<()> {
        match self {
            Self::Files(files) => files.write(tracer.take_notes(), tracer.take_packets()),
            Self::Snapshots(snapshots) => {
                snapshots.keep(tracer);
                Ok(())
            }
        }
    }

    /// Ends a recording that has failed, without what the tracer has: something before it is
    /// missing.
    fn close(self) -> Result<()> {
        match self {
            Self::Files(mut files) => files.close(),
            Self::Snapshots(snapshots) => {
                snapshots.report();
                Ok(())
            }
        }
    }

    fn finish(mut self, tracer: &mut Tracer, requests: u64) -> Result<()> {
        self.write(tracer)?;
        match self {
            Self::Files(mut files) => files.finish(),
            Self::Snapshots(snapshots) => snapshots.finish(tracer, requests),
        }
    }
}
