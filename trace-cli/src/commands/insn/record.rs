//! `trace insn record`: starts the process that traces, and waits for it.
//!
//! The kernel leaves a single-stepped thread with its trap flag when its tracer is killed, and the
//! next trap then kills the program. The tracer is therefore a process of its own: if this one is
//! killed, it releases the program.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use anyhow::{bail, Context, Result};
use rustix::process::{kill_process, Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::hardware;
use crate::cli::{InsnEngine, InsnRecordArgs};
use crate::exit;

/// A limit that no duration exceeds. Sites with such a condition announce their scopes.
const NEVER: &str = "18446744073709551615ns";

pub(super) fn run(args: &InsnRecordArgs) -> Result<u8> {
    if args.engine == InsnEngine::Hardware {
        return hardware::run(args);
    }
    if let Some(scope) = &args.in_scope {
        return record_with_session(args, scope);
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1])
        .context("cannot watch for signals")?;
    let mut engine = Command::new("/proc/self/exe")
        .arg0("trace-insn")
        .args(engine_arguments())
        .spawn()
        .context("cannot start the tracing process")?;
    let pid = Pid::from_child(&engine);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let signal = if signal == SIGUSR1 { Signal::Usr1 } else { Signal::Term };
            // It fails only if the process has ended.
            let _ = kill_process(pid, signal);
        }
    });
    let status = engine.wait().context("cannot wait for the tracing process")?;
    if let Some(signal) = status.signal() {
        bail!("the tracing process was killed by signal {signal}");
    }
    Ok(status.code().and_then(|code| code.try_into().ok()).unwrap_or(exit::RECORD_FAILED))
}

/// Returns the arguments of the process that traces.
fn engine_arguments() -> impl Iterator<Item = OsString> {
    // Those behind `trace insn record` are also those of the engine.
    let own = ["insn", "engine"].into_iter().map(OsString::from);
    own.chain(std::env::args_os().skip(3))
}

/// Becomes `trace record`, whose session arms the trace points of a scope, and which starts the
/// process that traces.
fn record_with_session(args: &InsnRecordArgs, scope: &str) -> Result<u8> {
    let directory = &args.output;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let this = std::env::current_exe().context("cannot find this program")?;
    let mut record = Command::new(&this);
    record.arg0("trace").args(["record", "--trigger", &format!("duration:{scope}>{NEVER}"), "-o"]);
    record.arg(directory.join("scopes.fxt")).arg("--").arg(this).args(engine_arguments());
    Err(record.exec()).context("cannot start the recording")
}
