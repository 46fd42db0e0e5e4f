//! A real manager, sockets and memory, and scripted providers.

mod archive;
mod controllers;
mod failures;
mod hostile;
mod machine_providers;
mod passed_on;
mod pausing;
mod provider;
mod queries;
mod quotas;
mod sessions;
mod sinks;
mod snapshots;

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use trace_manager::{
    ArchiveTarget, Manager, SessionConfig, SessionHandle, SessionSummary, Timeouts,
};
use trace_protocol::buffer::header::BufferingMode;

/// The longest time that a test waits.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// A manager in its own directory.
pub(crate) struct Stage {
    pub(crate) manager: Manager,
    pub(crate) directory: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let manager = Manager::bind(&directory.path().join("manager.sock")).unwrap();
        Self { manager, directory }
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.directory.path().join("out.fxt")
    }

    pub(crate) fn start(&self, config: SessionConfig) -> SessionHandle {
        self.manager.start(config, ArchiveTarget::File(self.archive())).unwrap()
    }

    /// Returns the names of all files in the directory, except the socket.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "manager.sock").collect()
    }
}

pub(crate) fn config(mode: BufferingMode) -> SessionConfig {
    SessionConfig { mode, buffer_size: 64 << 10, ..SessionConfig::default() }
}

/// Returns a configuration with short timeouts.
pub(crate) fn impatient(mode: BufferingMode) -> SessionConfig {
    let moment = Duration::from_secs(1);
    SessionConfig {
        timeouts: Timeouts { start: moment, stop: moment, terminate: moment },
        ..config(mode)
    }
}

/// Ends a session without waiting for its providers.
pub(crate) fn end(session: &SessionHandle) -> SessionSummary {
    session.stop();
    session.join().unwrap()
}

/// Waits until `condition` holds.
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "waited too long");
        std::thread::sleep(Duration::from_millis(1));
    }
}
