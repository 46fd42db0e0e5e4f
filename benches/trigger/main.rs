//! Measures triggers on durations: the cost of a scope that is compared, and the time from the end
//! of a scope that is too long to the snapshot.
//!
//! ```text
//! cargo bench --bench trigger
//! ```

mod cost;
mod latency;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use trace_manager::{
    ArchiveTarget, Manager, SessionConfig, SessionHandle, SessionState, SnapshotLimits,
};
use trace_protocol::mode::BufferingMode;

/// Names the program that a process is.
const PROGRAM: &str = "TRACE_BENCH_TRIGGER";

fn main() {
    match std::env::var(PROGRAM).as_deref() {
        Ok(cost::PROGRAM) => cost::measure(),
        Ok(latency::PROGRAM) => latency::raise(),
        _ if std::env::args().any(|argument| argument == "--bench") => {
            cost::print();
            latency::print();
        }
        // A benchmark, which `cargo test` must not run.
        _ => {}
    }
}

/// A session in circular mode with triggers.
struct Recording {
    /// The archive's, which is removed at the end.
    _directory: TempDir,
    manager: Manager,
    session: SessionHandle,
}

impl Recording {
    fn start(buffer_size: u64, triggers: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory for the archive");
        let manager = Manager::bind(&directory.path().join("socket")).expect("a socket");
        let rules = triggers.iter().map(|text| text.parse().expect("a trigger")).collect();
        let mode = BufferingMode::Circular;
        let snapshots =
            SnapshotLimits { keep: 1, min_interval: Duration::ZERO, ..SnapshotLimits::default() };
        let config =
            SessionConfig { mode, buffer_size, rules, snapshots, ..SessionConfig::default() };
        let target = ArchiveTarget::File(directory.path().join("trace.fxt"));
        let session = manager.start(config, target).expect("a session");
        session.wait_state(SessionState::Started, Duration::from_secs(5));
        Self { _directory: directory, manager, session }
    }

    /// Starts one of the programs of this file, under the session.
    fn program(&self, name: &str) -> Child {
        let mut program = Command::new(std::env::current_exe().expect("this program"));
        program.env(PROGRAM, name).env("TRACE_SOCKET", self.manager.path());
        program.stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().expect("the program starts")
    }

    fn end(self) {
        self.session.stop();
        self.session.join().expect("a summary");
    }
}
