//! What the tests of whole processes share: the programs, running them, and reading what they
//! recorded.

pub(crate) mod archive;
pub(crate) mod programs;
pub(crate) mod session;

pub(crate) use archive::{Archive, Event, Provider, Shape};
pub(crate) use programs::{record, recover, subject, subject_path, trace, Run};
pub(crate) use session::Session;

use std::time::{Duration, Instant};

/// After this long a process that should have done something is taken to hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something has happened.
///
/// # Panics
/// If it has not after [`PATIENCE`].
#[track_caller]
pub(crate) fn wait_until(what: &str, happened: impl FnMut() -> bool) {
    assert!(happens(happened), "waited in vain: {what}");
}

/// Waits until something has happened; false if it has not after [`PATIENCE`].
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

/// The three modes, as the command line and the environment name them.
pub(crate) const MODES: [&str; 3] = ["streaming", "circular", "oneshot"];
