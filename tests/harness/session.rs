//! A session of a manager in the test's own process.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trace_manager::{
    ArchiveTarget, Manager, SessionConfig, SessionHandle, SessionState, SessionSummary,
};
use trace_protocol::buffer::header::BufferingMode;

use super::{subject, Archive, PATIENCE};

/// A manager with a session, in a directory of its own.
#[derive(Debug)]
pub(crate) struct Session {
    directory: TempDir,
    pub(crate) manager: Manager,
    pub(crate) handle: SessionHandle,
}

impl Session {
    /// Starts a session.
    pub(crate) fn start(mode: &str, buffer_size: u64) -> Self {
        Self::with(SessionConfig {
            mode: mode_named(mode),
            buffer_size,
            ..SessionConfig::default()
        })
    }

    /// Starts a session with this configuration.
    pub(crate) fn with(config: SessionConfig) -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let manager =
            Manager::bind(&directory.path().join("manager.sock")).expect("the manager listens");
        let target = ArchiveTarget::File(directory.path().join("archive.fxt"));
        let handle = manager.start(config, target).expect("the session starts");
        assert!(handle.wait_state(SessionState::Started, PATIENCE));
        Self { directory, manager, handle }
    }

    /// Returns a path in its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the socket of the manager.
    pub(crate) fn socket(&self) -> &Path {
        self.manager.path()
    }

    /// Returns a command that runs a role of the traced program in this session.
    pub(crate) fn subject(&self, role: &[&str]) -> Command {
        let mut subject = subject(role);
        subject.env("TRACE_SOCKET", self.socket());
        subject
    }

    /// Ends the session, and returns its archive and summary.
    #[track_caller]
    pub(crate) fn end(self) -> (Archive, SessionSummary) {
        self.handle.stop();
        let summary = self.handle.join().expect("the session ends");
        assert!(summary.archive.is_ok(), "{summary:?}");
        let refused: Vec<_> =
            summary.providers.iter().filter(|provider| !provider.rejected.is_empty()).collect();
        assert!(refused.is_empty(), "no record of ours is refused: {refused:?}");
        (Archive::read(&self.path("archive.fxt")), summary)
    }
}

/// Returns the mode of this name.
pub(crate) fn mode_named(name: &str) -> BufferingMode {
    match name {
        "streaming" => BufferingMode::Streaming,
        "circular" => BufferingMode::Circular,
        "oneshot" => BufferingMode::Oneshot,
        _ => panic!("no mode: {name}"),
    }
}
