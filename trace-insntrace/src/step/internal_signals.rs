//! The signals that the C library keeps for itself.
//!
//! A process that glibc's `posix_spawn` has started ignores them, and a process with threads
//! handles SIGSETXID. If such a process starts a program, that does not ignore the same signals as
//! the process's own caller. The library's `sigaction` refuses their numbers.

use std::process::Command;

use rustix::process::getpid;

use super::ptrace::{self, Tid};
use super::status::ignored_signals;

/// SIGCANCEL and SIGSETXID of glibc and musl.
const SIGNALS: [i32; 2] = [32, 33];

/// Which of the C library's own signals a process ignores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InternalSignals {
    ignored: u64,
}

impl InternalSignals {
    /// Returns those that this process ignores. Call it before the process has threads.
    #[must_use]
    pub fn of_this_process() -> Self {
        // Without `/proc`, they have their default action.
        let this = Tid(getpid().as_raw_nonzero().get());
        Self::from_bits(ignored_signals(this).unwrap_or(0))
    }

    /// Returns the ignored signals of a set, which has signal N at bit N - 1. Other signals are
    /// left out.
    #[must_use]
    pub fn from_bits(set: u64) -> Self {
        Self { ignored: SIGNALS.iter().map(|signal| set & bit(*signal)).sum() }
    }

    /// Returns the set.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.ignored
    }

    /// Makes a program ignore these signals from its start, and have the default action of the
    /// others.
    pub fn pass_to(self, command: &mut Command) {
        for signal in SIGNALS {
            ptrace::set_ignored(command, signal, self.ignored & bit(signal) != 0);
        }
    }
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}
