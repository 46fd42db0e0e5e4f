//! `trace insn record`: starts the process that traces, and waits for it.
//!
//! The kernel leaves a single-stepped thread with its trap flag when its tracer is killed, and the
//! next trap then kills the program. The tracer is therefore a process of its own: if this one is
//! killed, it releases the program.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use anyhow::{bail, Context, Result};
use rustix::process::{kill_process, Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::hardware;
use crate::cli::{InsnEngine, InsnRecordArgs};
use crate::exit;

pub(super) fn run(args: &InsnRecordArgs) -> Result<u8> {
    if args.engine == InsnEngine::Hardware {
        return hardware::run(args);
    }
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    let mut signals = Signals::new(signals).context("cannot watch for signals")?;
    // The arguments behind `trace insn record` are also those of the engine.
    let arguments = std::env::args_os().skip(3);
    let mut engine = Command::new("/proc/self/exe")
        .arg0("trace-insn")
        .args(["insn", "engine"])
        .args(arguments)
        .spawn()
        .context("cannot start the tracing process")?;
    let pid = Pid::from_child(&engine);
    std::thread::spawn(move || {
        for _ in signals.forever() {
            // It fails only if the process has ended.
            let _ = kill_process(pid, Signal::Term);
        }
    });
    let status = engine.wait().context("cannot wait for the tracing process")?;
    if let Some(signal) = status.signal() {
        bail!("the tracing process was killed by signal {signal}");
    }
    Ok(status.code().and_then(|code| code.try_into().ok()).unwrap_or(exit::RECORD_FAILED))
}
