//! `trace daemon`

mod background;
mod config;
mod configured;
mod guards;
mod kernel;
mod logger;
mod notify;
mod places;
mod stop;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use trace_manager::{ControlLimits, ControlServer, ControlSettings, Limits, Manager};

use self::config::Config;
use self::configured::ConfiguredSessions;
use self::guards::Guards;
use self::kernel::KernelCompanions;
use self::places::Places;
use crate::cli::DaemonArgs;
use crate::recorders::directory::OwnedDirectory;
use crate::{descriptors, exit};

/// The folder of sessions that go on after a kill, beside the sockets.
const SESSIONS: &str = ".trace-sessions";

/// The begin of the name of a folder of files that are not complete.
const SCRATCH: &str = ".trace-daemon-";

/// How long guards may take to end after the sessions.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &DaemonArgs) -> Result<u8> {
    if args.stop {
        return stop::run(args.socket.as_deref());
    }
    if args.background {
        return background::start(args);
    }
    if args.child {
        // Fails if this process leads a session already.
        let _ = rustix::process::setsid();
    }
    logger::install(args.child.then_some(&args.dir)).context("cannot start the log")?;
    let _flush = FlushLog;
    serve(args)
}

/// Waits until the log is written, also after a panic.
struct FlushLog;

impl Drop for FlushLog {
    fn drop(&mut self) {
        log::logger().flush();
    }
}

/// Runs until a signal to end.
fn serve(args: &DaemonArgs) -> Result<u8> {
    let config = Config::read(args.config.as_deref())?;
    // This precedes the sockets, so that no signal ends the daemon in between.
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGHUP]).context("cannot watch for signals")?;
    descriptors::raise_limit();
    let daemon = Daemon::start(args, &config)?;
    notify::send("READY=1");
    daemon.configured.start(&daemon.server, config.sessions);
    for signal in signals.forever() {
        if signal != SIGHUP {
            break;
        }
        daemon.reload(args.config.as_deref());
    }
    notify::send("STOPPING=1");
    log::info!("the sessions stop");
    daemon.end();
    Ok(exit::OK)
}

struct Daemon {
    server: ControlServer,
    configured: ConfiguredSessions,
    guards: Arc<Guards>,
    /// Files that are not complete. Dropped last.
    _scratch: OwnedDirectory,
}

impl Daemon {
    fn start(args: &DaemonArgs, config: &Config) -> Result<Self> {
        let directory = std::path::absolute(&args.dir)
            .with_context(|| format!("cannot use {}", args.dir.display()))?;
        let scratch = OwnedDirectory::create_in(&directory, SCRATCH)
            .with_context(|| format!("cannot use the directory {}", directory.display()))?;
        let Places { registration, control } = Places::open(args.socket.as_deref())?;
        log::info!("programs register at {}", registration.path().display());
        let sessions = registration.path().with_file_name(SESSIONS);
        let manager = Manager::with_listener(registration, Limits::default())?;
        let guards = Arc::new(Guards::default());
        let start_guard = Arc::clone(&guards);
        let settings = ControlSettings {
            groups: config.groups.clone(),
            limits: ControlLimits::default(),
            scratch: scratch.path().to_owned(),
            guard: Some(Box::new(move |session| start_guard.start(session))),
            sessions: Some(sessions),
            companions: Some(Box::new(KernelCompanions)),
        };
        let server = ControlServer::start(control, manager, settings)?;
        let configured = ConfiguredSessions::new(directory, server.configuration())?;
        Ok(Self { server, configured, guards, _scratch: scratch })
    }

    /// Reads the configuration again. If it is wrong, the earlier one stays.
    fn reload(&self, path: Option<&Path>) {
        match Config::read(path) {
            Ok(config) => {
                log::info!("the configuration is read again");
                self.server.set_groups(config.groups);
                self.configured.start(&self.server, config.sessions);
            }
            Err(error) => self.configured.refuse(&error),
        }
    }

    /// Stops all sessions, and waits until their archives are complete.
    fn end(self) {
        drop(self.server);
        self.guards.wait(PATIENCE);
    }
}
