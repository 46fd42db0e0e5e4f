//! The limit of file descriptors.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// Raises the soft limit to the hard one: each program in a session takes a few.
///
/// Call it after the recorded command has started: a child inherits the limit, and a program that
/// uses `select` may fail with a high one.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // This cannot fail. With the old limit, the manager refuses programs beyond it.
    let _same = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
