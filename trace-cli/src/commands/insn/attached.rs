//! `trace insn record --in-scope --attach`: the daemon records the program, and its session arms
//! the trace points.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use trace_manager::controller::{
    Controller, ProviderFilter, SessionEvent, SessionState, TraceConfig,
};
use trace_protocol::mode::BufferingMode;

use super::engine_process::run_engine;
use crate::args::Attach;
use crate::cli::InsnRecordArgs;
use crate::commands::daemon_client::{connect, output};
use crate::commands::record::attach::select;
use crate::message::HINT;

/// The size of the buffer of the program: that of `trace record`.
const BUFFER_BYTES: u64 = 16 << 20;

/// How long to wait until the program records, at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the session continues after the tracer has released the program.
const SCOPE_END: Duration = Duration::from_millis(100);

/// The hint if the daemon does not know the program.
const MISSING: &str = "the program must link `trace-runtime`, and `trace daemon` must run, before \
                       or after the program starts; or start the program: trace insn record \
                       --in-scope CATEGORY/NAME -- COMMAND";

/// Records the instructions of a process in a session of the daemon with these triggers.
pub(super) fn run(args: &InsnRecordArgs, pid: u32, triggers: Vec<String>) -> Result<u8> {
    if args.in_scope.is_none() {
        bail!(
            "--snapshot alert: and duration: require COMMAND{HINT}with --attach, use --snapshot \
             request or function:SYMBOL"
        );
    }
    let mut controller =
        connect(None).with_context(|| format!("cannot arm the trace points of process {pid}"))?;
    let providers = controller.providers()?;
    let Ok(only) = select(&Attach::Process(pid), &providers) else {
        bail!("process {pid} is not registered with the daemon{HINT}{MISSING}");
    };
    std::fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot create {}", args.output.display()))?;
    let name = start(&mut controller, args, only, triggers)?;
    let result = wait(&mut controller, &name, pid).and_then(|()| run_engine());
    // The tracer releases the program when it announces the end of a scope. Its record follows.
    thread::sleep(SCOPE_END);
    // The program may have ended, and the session with it. Dropping the connection ends it, too.
    let stopped = controller.stop(&name);
    let code = result?;
    stopped.context("cannot stop the session of the daemon")?;
    Ok(code)
}

/// Starts the session, which ends with this connection.
fn start(
    controller: &mut Controller,
    args: &InsnRecordArgs,
    only: ProviderFilter,
    rules: Vec<String>,
) -> Result<String> {
    let path = std::path::absolute(args.output.join("scopes.fxt"))?;
    let (output, file) = output(&path)?;
    let name = format!("insn-{}", std::process::id());
    let config = TraceConfig {
        name,
        only,
        rules,
        output,
        mode: BufferingMode::Streaming,
        buffer_size: BUFFER_BYTES,
        detached: false,
        ..TraceConfig::default()
    };
    let name = controller.initialize(&config, &file)?;
    controller.watch(&name)?;
    controller.start(&name)?;
    Ok(name)
}

/// Waits until the program records: its trace points are armed then.
fn wait(controller: &mut Controller, name: &str, pid: u32) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        match controller.next_event(left)? {
            Some(SessionEvent::State { state: SessionState::Started, session })
                if session == name =>
            {
                return Ok(());
            }
            _ => {}
        }
    }
    bail!(
        "process {pid} does not answer the daemon, {} s after the start of the session{HINT}it may \
         be stopped, or in a debugger",
        PATIENCE.as_secs()
    )
}
