//! The daemon, a process of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use trace_manager::controller::{Controller, Output, ProviderResult, Summary, TraceConfig};
use trace_protocol::mode::BufferingMode;

/// The daemon accepts 1000 requests of a user in a second.
const BETWEEN_REQUESTS: Duration = Duration::from_millis(5);

/// The name of the session.
pub(crate) const SESSION: &str = "load";

/// A daemon in a directory of its own. It is killed when this is dropped.
pub(crate) struct Daemon {
    directory: TempDir,
    child: Child,
}

impl Daemon {
    pub(crate) fn start() -> Self {
        Self::start_in(&std::env::temp_dir())
    }

    /// Starts a daemon whose archives are in a new directory of `parent`.
    pub(crate) fn start_in(parent: &Path) -> Self {
        let directory = tempfile::tempdir_in(parent).expect("a directory for the daemon");
        let mut command = Command::new(trace());
        command.args(["daemon", "--socket"]).arg(directory.path().join("manager.sock"));
        command.arg("--dir").arg(directory.path()).env("TRACE_CONFIG", "").stderr(Stdio::null());
        let child = command.spawn().expect("trace is built: cargo build --release -p trace-cli");
        let daemon = Self { directory, child };
        while Controller::connect(&daemon.path("control.sock")).is_err() {
            std::thread::sleep(BETWEEN_REQUESTS);
        }
        daemon
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("manager.sock")
    }

    pub(crate) fn controller(&self) -> Controller {
        Controller::connect(&self.path("control.sock")).expect("the daemon runs")
    }

    pub(crate) fn wait_for_programs(&self, number: usize) {
        let mut controller = self.controller();
        while controller.providers().expect("a list").len() != number {
            std::thread::sleep(BETWEEN_REQUESTS);
        }
    }

    /// Starts a streaming session that writes a new file in the daemon's directory. It ends with
    /// the connection.
    pub(crate) fn record(&self, controller: &mut Controller, buffer_size: u64) {
        let directory = File::open(self.directory.path()).expect("the daemon's directory");
        let output = Output::Beneath("load.fxt".to_owned());
        let config = TraceConfig { output, ..config(buffer_size) };
        controller.initialize(&config, &directory).expect("a session");
        controller.start(SESSION).expect("it starts");
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.path("load.fxt")
    }
}

/// Returns the configuration of a streaming session.
pub(crate) fn config(buffer_size: u64) -> TraceConfig {
    let name = SESSION.to_owned();
    let start_timeout = Duration::from_secs(1);
    let mode = BufferingMode::Streaming;
    TraceConfig { name, mode, buffer_size, start_timeout, ..TraceConfig::default() }
}

/// Stops the session.
///
/// # Panics
///
/// If the archive is not complete.
pub(crate) fn stop(controller: &mut Controller) -> Summary {
    let summary = controller.stop(SESSION).expect("a summary");
    assert_eq!(summary.failure, None);
    summary
}

/// Returns the events of the programs of a session, without those that report losses, and the
/// records that they dropped.
pub(crate) fn events_and_lost(summary: &Summary) -> (u64, u64) {
    let providers = summary.providers.iter();
    providers.fold((0, 0), |(events, lost), it| (events + own_events(it), lost + it.dropped))
}

/// Returns the events of a program without those that report losses.
pub(crate) fn own_events(result: &ProviderResult) -> u64 {
    let own = result.categories.iter().filter(|(name, _)| name == "load");
    own.map(|(_, events)| events).sum()
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of the command, beside this program.
fn trace() -> PathBuf {
    let own = std::env::current_exe().expect("this program");
    own.ancestors().nth(2).expect("benchmarks are in TARGET/PROFILE/deps").join("trace")
}
