//! The daemon and the commands that use it.

mod attach;
mod ending;
mod flight;
mod full_disk;
mod long_soak;
mod messages;
#[path = "../harness/numbered.rs"]
mod numbered;
mod pausing;
#[path = "../harness/daemon.rs"]
mod processes;
mod recorders;
mod sessions;
mod setup;
mod silent;
mod soak;
mod triggers;
mod two_daemons;
mod users;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{kill_process, Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;
use trace_manager::controller::{Controller, TraceConfig};

use crate::harness::{subject, trace, wait_until, Run};

pub(crate) use processes::{streaming, Daemon, Program, BETWEEN_REQUESTS};

/// Returns whether numbers follow each other without a gap.
pub(crate) fn are_consecutive(numbers: &[u64]) -> bool {
    numbers.windows(2).all(|pair| pair[0] + 1 == pair[1])
}
