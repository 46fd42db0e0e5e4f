//! A session of the daemon for a program that runs already.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use trace_manager::controller::{
    Controller, ControllerError, ProviderFilter, SessionEvent, TraceConfig,
};
use trace_protocol::mode::BufferingMode;

use crate::args::Attach;
use crate::cli::InsnRecordArgs;
use crate::commands::insn::snapshot::Requests;
use crate::commands::record::attach::select;
use crate::daemon_client::{connect, output};
use crate::message::HINT;
use crate::say;

/// The size of the buffer of the program: that of `trace record`.
const BUFFER_BYTES: u64 = 16 << 20;

/// How long to wait until the program records, at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the session waits for the program while its instructions are traced.
const SLOW_PATIENCE: Duration = Duration::from_secs(60);

/// How long the session continues after the tracer has released the program: its last records
/// follow.
const LAST_RECORDS: Duration = Duration::from_millis(100);

/// How often the thread that waits for events looks whether it is to end.
const TICK: Duration = Duration::from_millis(50);

/// The hint if the daemon does not know the program.
const MISSING: &str = "the program must link `trace-runtime`, and `trace daemon` must run, before \
                       or after the program starts; or start the program: trace insn record … -- \
                       COMMAND";

/// A session of the daemon that records the process. It ends with its connection.
#[derive(Debug)]
pub(in crate::commands::insn) struct AttachedSession {
    name: String,
    is_ending: Arc<AtomicBool>,
    watcher: JoinHandle<Result<Controller, ControllerError>>,
}

impl AttachedSession {
    /// Starts the session. Returns when the program records, and its trace points are armed.
    pub(super) fn start(
        args: &InsnRecordArgs,
        pid: u32,
        triggers: Vec<String>,
        requests: &Requests,
    ) -> Result<Self> {
        let mut controller = connect(None)
            .with_context(|| format!("cannot arm the trace points of process {pid}"))?;
        let providers = controller.providers()?;
        let Ok(only) = select(&Attach::Process(pid), &providers) else {
            bail!("process {pid} is not registered with the daemon{HINT}{MISSING}");
        };
        std::fs::create_dir_all(&args.output)
            .with_context(|| format!("cannot create {}", args.output.display()))?;
        let name = initialize(&mut controller, args, only, triggers)?;
        let started = controller.start(&name).map_err(Into::into);
        if let Err(error) = started.and_then(|()| check(&mut controller, &name, pid)) {
            // The first error is the one to report.
            let _ = controller.abort(&name);
            return Err(error);
        }
        let is_ending = Arc::new(AtomicBool::new(false));
        let (ends, requests) = (Arc::clone(&is_ending), requests.clone());
        let watch = move || watch(controller, &ends, &requests);
        let watcher = thread::Builder::new().name("trace-session".to_owned()).spawn(watch);
        let watcher = watcher.context("cannot start a thread")?;
        Ok(Self { name, is_ending, watcher })
    }

    /// Ends the session, and returns the number of its snapshots. The tracer has released the
    /// program, or it has ended.
    ///
    /// # Errors
    ///
    /// The session has not recorded until now, or its results could not be written.
    pub(super) fn end(self) -> Result<u64> {
        thread::sleep(LAST_RECORDS);
        let name = self.name.clone();
        let summary = self.controller().and_then(|mut controller| {
            // Writing the results may take any time.
            controller.set_timeout(None);
            Ok(controller.stop(&name)?)
        });
        let summary = summary.context("cannot stop the session of the daemon")?;
        Ok(summary.snapshots.len() as u64 + summary.snapshots_removed)
    }

    /// Ends the session, and removes its archive.
    pub(super) fn discard(self) {
        let name = self.name.clone();
        // The reason for discarding is the error to report.
        let _ = self.controller().map(|mut controller| controller.abort(&name));
    }

    /// Ends the thread, and returns its connection.
    fn controller(self) -> Result<Controller> {
        self.is_ending.store(true, Ordering::Relaxed);
        let Ok(controller) = self.watcher.join() else { bail!("the thread has panicked") };
        Ok(controller?)
    }
}

/// Creates the session.
fn initialize(
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
        start_timeout: PATIENCE,
        stop_timeout: SLOW_PATIENCE,
        detached: false,
        ..TraceConfig::default()
    };
    let name = controller.initialize(&config, &file)?;
    controller.watch(&name)?;
    Ok(name)
}

/// Fails unless the program records: its trace points are armed then.
fn check(controller: &mut Controller, name: &str, pid: u32) -> Result<()> {
    let sessions = controller.sessions()?;
    if sessions.iter().any(|session| session.name == name && session.joined > 0) {
        return Ok(());
    }
    bail!(
        "process {pid} does not answer the daemon, {} s after the start of the session{HINT}it may \
         be stopped, or in a debugger",
        PATIENCE.as_secs()
    )
}

/// Requests a snapshot of the instructions for each one of the session, until it is to end.
fn watch(
    mut controller: Controller,
    ends: &AtomicBool,
    requests: &Requests,
) -> Result<Controller, ControllerError> {
    while !ends.load(Ordering::Relaxed) {
        match controller.next_event(TICK) {
            Ok(Some(SessionEvent::Snapshot { .. })) => requests.add_of_session(),
            Ok(_) => {}
            Err(error) => {
                say(&format!("the daemon records the program no longer: {error}"));
                return Err(error);
            }
        }
    }
    Ok(controller)
}
