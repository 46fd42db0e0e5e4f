//! How many file descriptors this process may have.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// Raises the soft limit to the hard one: each program in a session takes a few.
///
/// Programs that are started afterwards inherit it, and those that use `select` may not bear it:
/// the command that is recorded is started before.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Refused by nobody; and with the limit as it is, the manager refuses what is beyond it.
    let _same = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
