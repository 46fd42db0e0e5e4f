//! A session that records the kernel's events.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Child, ChildStdout};
use std::time::Duration;

use tempfile::TempDir;
use trace_manager::{ArchiveTarget, Manager, SessionConfig, SessionHandle, SessionState};
use trace_protocol::mode::BufferingMode;

use crate::process;

/// The size of the buffers of the kernel, for each CPU, and of the helper.
const BUFFER: u64 = 64 << 20;

/// A session with its helper. The events of this thread's children are recorded.
pub(crate) struct Recording {
    directory: TempDir,
    session: SessionHandle,
    manager: Manager,
    helper: Child,
    lines: BufReader<ChildStdout>,
}

/// The results of a recording.
pub(crate) struct Recorded {
    pub(crate) archive: PathBuf,
    /// The helper's CPU time in nanoseconds.
    pub(crate) cpu_nanos: u64,
    /// Events that the kernel dropped.
    pub(crate) dropped: u64,
    /// Records that the helper's buffer had no space for.
    pub(crate) lost: u64,
    _directory: TempDir,
}

impl Recording {
    /// Starts to record these categories into an archive in memory.
    pub(crate) fn start(categories: &str) -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
        let manager = Manager::bind(&directory.path().join("socket")).expect("a socket");
        let config = SessionConfig {
            mode: BufferingMode::Streaming,
            buffer_size: BUFFER,
            ..SessionConfig::default()
        };
        let target = ArchiveTarget::File(directory.path().join("kernel.fxt"));
        let session = manager.start(config, target).expect("a session");
        session.wait_state(SessionState::Started, Duration::from_secs(1));
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let role = format!("helper {categories} {BUFFER} {thread}");
        let helper = manager.spawn_machine_provider(&mut process::command(&role));
        let mut helper = helper.expect("the helper starts");
        let mut lines = BufReader::new(helper.stdout.take().expect("its output"));
        assert_eq!(process::line(&mut lines), "ready");
        Self { directory, session, manager, helper, lines }
    }

    /// Ends the recording.
    pub(crate) fn end(self) -> Recorded {
        let Self { directory, session, manager, mut helper, mut lines } = self;
        drop(helper.stdin.take());
        let totals = process::parse(&process::line(&mut lines));
        let &[cpu_nanos, dropped] = &totals[..] else { panic!("{totals:?}") };
        process::end(&mut helper);
        session.stop();
        let summary = session.join().expect("a summary");
        drop(manager);
        let archive = directory.path().join("kernel.fxt");
        Recorded { archive, cpu_nanos, dropped, lost: summary.lost(), _directory: directory }
    }
}
