//! Shared code of the tests of whole processes: building and running programs, and reading their
//! archives.

pub(crate) mod archive;
pub(crate) mod building;
pub(crate) mod programs;
pub(crate) mod session;

pub(crate) use archive::{Archive, Event, Provider, Shape};
pub(crate) use programs::{record, recover, subject, subject_path, trace, Run};
pub(crate) use session::Session;

use std::time::{Duration, Instant};

/// The timeout after which a process is considered to hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until a condition is true.
///
/// # Panics
/// If it is not true after [`PATIENCE`].
#[track_caller]
pub(crate) fn wait_until(what: &str, happened: impl FnMut() -> bool) {
    assert!(happens(happened), "waited in vain: {what}");
}

/// Waits until a condition is true. Returns false if it is not true after [`PATIENCE`].
pub(crate) fn happens(mut happened: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !happened() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// The names of the three modes, on the command line and in the environment.
pub(crate) const MODES: [&str; 3] = ["streaming", "circular", "oneshot"];
