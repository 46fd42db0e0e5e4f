//! Several sessions at once, with real providers. Each archive is compared with what the provider
//! recorded.

mod archive;
mod categories;
mod following;
mod guards;
mod modes;
mod pausing;
mod program;
mod rotation;
mod sessions;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use trace_manager::{ArchiveTarget, Manager, SessionConfig, SessionHandle, SessionSummary};
use trace_protocol::mode::BufferingMode;

use archive::Archive;
use program::Program;

/// The longest time that a test waits.
const LONG: Duration = Duration::from_secs(600);

/// A manager in its own directory.
struct Stage {
    manager: Manager,
    directory: TempDir,
}

/// A running session, and the path of its archive.
struct Session {
    handle: SessionHandle,
    path: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let manager = Manager::bind(&directory.path().join("manager.sock")).unwrap();
        Self { manager, directory }
    }

    fn start(&self, name: &str, config: SessionConfig) -> Session {
        let path = self.directory.path().join(name);
        let handle = self.manager.start(config, ArchiveTarget::File(path.clone())).unwrap();
        Session { handle, path }
    }
}

impl Session {
    /// Stops the session. Returns its archive and its summary.
    fn end(self) -> (Archive, SessionSummary) {
        self.handle.stop();
        let summary = self.handle.join().unwrap();
        assert!(summary.archive.is_ok(), "{summary:?}");
        (Archive::open(&self.path), summary)
    }

    /// Waits until every provider records for this session.
    fn wait_started(&self) {
        assert!(self.handle.wait_state(trace_manager::SessionState::Started, LONG));
    }
}

fn config(mode: BufferingMode, categories: &[&str]) -> SessionConfig {
    SessionConfig {
        mode,
        buffer_size: 256 << 10,
        categories: categories.iter().map(|category| category.to_string()).collect(),
        ..SessionConfig::default()
    }
}

/// Waits until `condition` holds.
fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
