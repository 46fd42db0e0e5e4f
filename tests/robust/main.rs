//! Robustness tests with whole processes: kills, forks, panics, signals, hangs, and all ways of
//! ending.

#[path = "../harness/mod.rs"]
mod harness;

mod alerts;
mod clocks;
mod comparing;
mod conditions;
mod daemon;
mod descriptors;
mod ending;
mod following;
mod forging;
mod forking;
mod full_disks;
mod hanging;
mod hostile_manager;
#[cfg(target_arch = "x86_64")]
mod instruction_scopes;
#[cfg(target_arch = "x86_64")]
mod instruction_snapshots;
mod instruments;
mod kept_archives;
mod killing;
mod llvm_tools;
mod locked_memory;
mod losses;
mod namespaces;
mod other_users;
mod outputs;
mod private_socket;
mod record_command;
mod record_places;
mod rotation;
mod sessions;
mod signals;
mod sleds;
mod slow_paths;
mod snapshot_limits;
mod threads;
mod trigger_causes;
mod trigger_commands;
mod trigger_endings;
mod unwinding;
mod watched;
mod xray_logs;
