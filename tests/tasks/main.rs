//! Traced futures: the archive has their polls and results, with any executor.

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "../harness/archive.rs"]
mod archive;
mod attribute;
mod by_hand;
mod executors;
mod figures;
mod found;
mod midway;
mod saved;
mod storm;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;
use trace_runtime::{Builder, Trace};

use archive::Archive;
use found::Tasks;

/// A recording of this process by itself. Only one runs at a time, also with concurrent tests.
struct Recording {
    trace: Trace,
    directory: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Recording {
    /// Starts a recording of the default category of the tests.
    fn start() -> Self {
        Self::of("test")
    }

    /// Starts a recording of only this category.
    fn of(category: &str) -> Self {
        Self::with(|builder| builder.categories([category]).buffer_size(64 << 20).oneshot())
    }

    /// Starts a recording.
    fn with(choose: impl FnOnce(Builder) -> Builder) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let trace = choose(trace_runtime::builder().output(path(&directory))).init();
        Self { trace, directory, _alone: alone }
    }

    /// Ends it. Fails if records were lost.
    fn end(self) -> Archive {
        drop(self.trace);
        let archive = Archive::read(&path(&self.directory));
        assert_eq!(archive.only().lost(), 0);
        archive
    }

    /// Ends it, and collects the records of each task.
    fn tasks(self) -> Tasks {
        Tasks::of(self.end().only())
    }
}

fn path(directory: &TempDir) -> PathBuf {
    directory.path().join("archive.fxt")
}
