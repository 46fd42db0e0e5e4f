//! The limit of file descriptors.

use std::fs::File;
use std::os::fd::OwnedFd;

use anyhow::{Context, Result};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

use crate::message::HINT;

/// The descriptors of a recorded program: its connection, its buffer, both ends of a packet socket,
/// and one that is open for a short time.
const OF_PROGRAM: usize = 5;

/// Fails if there are too few descriptors to record a program.
pub(crate) fn require_for_program() -> Result<()> {
    let opened: Result<Vec<OwnedFd>, _> =
        (0..OF_PROGRAM).map(|_| File::open("/dev/null").map(OwnedFd::from)).collect();
    opened.map(drop).with_context(|| {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        format!("no program can be recorded with a limit of {limit} file descriptors{HINT}raise it, as by ulimit -n 1024")
    })
}

/// Raises the soft limit to the hard one: each program in a session takes a few.
///
/// Call it after the recorded command has started: a child inherits the limit, and a program that
/// uses `select` may fail with a high one.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // This cannot fail. With the old limit, the manager refuses programs beyond it.
    let _same = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
