//! Traced futures: what is in the archive is what they did, with any executor.

#[allow(dead_code, reason = "other tests need more of it")]
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

/// A recording of this process, by itself. There is one at a time, also with several tests at once.
struct Recording {
    trace: Trace,
    directory: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Recording {
    /// Starts one of the category that tests use where it does not matter.
    fn start() -> Self {
        Self::of("test")
    }

    /// Starts one of this category, and of no other.
    fn of(category: &str) -> Self {
        Self::with(|builder| builder.categories([category]).buffer_size(64 << 20).oneshot())
    }

    /// Starts one.
    fn with(choose: impl FnOnce(Builder) -> Builder) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let trace = choose(trace_runtime::builder().output(path(&directory))).init();
        Self { trace, directory, _alone: alone }
    }

    /// Ends it. Nothing was lost.
    fn end(self) -> Archive {
        drop(self.trace);
        let archive = Archive::read(&path(&self.directory));
        assert_eq!(archive.only().lost(), 0);
        archive
    }

    /// Ends it, and puts the records of each task together.
    fn tasks(self) -> Tasks {
        Tasks::of(self.end().only())
    }
}

fn path(directory: &TempDir) -> PathBuf {
    directory.path().join("archive.fxt")
}
