//! The process that traces, which `trace insn record` and `trace insn init` start.
//!
//! The kernel leaves a single-stepped thread with its trap flag when its tracer is killed, and the
//! next trap then kills the program. The tracer is therefore a process of its own: if this one is
//! killed, it releases the program.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Arc;

use anyhow::{anyhow, bail, Context, Result};
use rustix::process::{kill_process, Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use trace_insntrace::step::IgnoredSignals;

use crate::{exit, ignored_signals, say};

/// The signals that the process that traces handles before it starts a program.
const HANDLED: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1];

/// Starts the process that traces, and waits for it. Returns its exit code.
pub(super) fn run_engine() -> Result<u8> {
    run_process(engine_arguments())
}

/// Starts the process that traces for a controller, and waits for it. Returns its exit code.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) fn run_controller() -> Result<u8> {
    let parent = ["--parent".to_owned(), std::process::id().to_string()].map(OsString::from);
    run_process(std::env::args_os().skip(1).chain(parent))
}

fn run_process(arguments: impl Iterator<Item = OsString>) -> Result<u8> {
    let signals = ignored_signals::to_handle(&HANDLED);
    let mut signals = Signals::new(signals).context("cannot watch for signals")?;
    let mut engine = Command::new("/proc/self/exe")
        .arg0("trace-insn")
        .args(arguments)
        .spawn()
        .context("cannot start the tracing process")?;
    let pid = Pid::from_child(&engine);
    let first = Arc::new(AtomicI32::new(0));
    let received = Arc::clone(&first);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let passed = if signal == SIGUSR1 { Signal::Usr1 } else { Signal::Term };
            // If there was one before, that stays.
            let _ = received.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
            // It fails only if the process has ended.
            let _ = kill_process(pid, passed);
        }
    });
    let status = engine.wait().context("cannot wait for the tracing process")?;
    if let Some(signal) = status.signal() {
        if HANDLED.contains(&signal) {
            // It had no handlers yet. Its signal may be that of a terminal for all processes.
            let first = Some(first.load(Ordering::Relaxed)).filter(|first| *first != 0);
            let signal = first.unwrap_or(signal);
            say(&format!("interrupted by signal {signal} before the program started"));
            return Ok(exit::SIGNALLED.wrapping_add(signal as u8));
        }
        bail!("the tracing process was killed by signal {signal}");
    }
    Ok(status.code().and_then(|code| code.try_into().ok()).unwrap_or(exit::RECORD_FAILED))
}

/// Returns the exit code and the error of a program that could not be started.
pub(super) fn start_error(program: &OsStr, error: io::Error) -> (u8, anyhow::Error) {
    let code = match error.kind() {
        ErrorKind::NotFound => exit::NOT_FOUND,
        _ => exit::CANNOT_RUN,
    };
    (code, anyhow!(error).context(format!("cannot run {}", Path::new(program).display())))
}

/// Returns the arguments of the process that traces. It is a child of this one, also if this one
/// executes another program before it starts.
pub(super) fn engine_arguments() -> impl Iterator<Item = OsString> {
    let parent = std::process::id().to_string();
    let ignored = IgnoredSignals::of_this_process().bits().to_string();
    let own = ["insn", "engine", "--parent", &parent, "--ignored", &ignored].map(OsString::from);
    // Those behind `trace insn record` are also those of the engine.
    own.into_iter().chain(std::env::args_os().skip(3))
}
