//! The signals that a program ignores from its start, because the caller of the tracer does.
//!
//! A tracer handles signals that its caller ignores, as under `nohup`, and a program that it starts
//! then has their default action. Signals of the C library are others: a process that glibc's
//! `posix_spawn` has started ignores them, and a process with threads handles SIGSETXID. The
//! library's `sigaction` refuses their numbers.

use std::process::Command;

use rustix::process::getpid;

use super::ptrace::{self, Tid};
use super::status::ignored_signals;

/// The signals that a tracer may handle, and SIGCANCEL and SIGSETXID of glibc and musl.
const SIGNALS: [i32; 8] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTERM,
    32,
    33,
];

/// Which signals a process ignores: those that a tracer may handle, and the C library's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IgnoredSignals {
    ignored: u64,
}

impl IgnoredSignals {
    /// Returns those that this process ignores. Call it before the process has threads or handles
    /// signals.
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
