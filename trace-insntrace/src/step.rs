//! Tracing by stops: the instructions of processes, executed one by one or in blocks.
//!
//! It works on any x86-64 Linux, without hardware for tracing. It is exact and slow: each
//! instruction, or each branch that depends on data, is a stop of its thread, which takes about 10
//! µs.

mod arrive;
mod block_engine;
mod blocks;
mod branch;
mod calls;
mod code;
mod code_changes;
mod copied_flags;
mod decode;
mod encoder;
mod free_running;
mod ignored_signals;
mod maps;
mod mask_calls;
mod memory;
mod options;
mod own_traps;
mod passed;
mod plants;
mod ptrace;
mod range;
mod run;
mod spawn;
mod status;
mod stops;
mod thread;
mod traced_calls;
mod tracer;
mod trap_mask;
mod tripwire;

pub use ignored_signals::IgnoredSignals;
pub use options::{Engine, Options};
#[cfg(test)]
pub(crate) use ptrace::tests::refuse;
pub use range::{SymbolRange, TracedRange};
pub use thread::Executed;
pub use traced_calls::{Traced, TracedCalls};
pub use tracer::{Step, StopHandle, Tracer};

/// Starts `command`, and calls `prepare` with its id before it executes the program. The program is
/// not executed if that fails.
pub(crate) fn spawn_held(
    command: &mut std::process::Command,
    prepare: impl FnOnce(u32) -> std::io::Result<()>,
) -> std::io::Result<std::process::Child> {
    spawn::spawn_held(command, |tid| prepare(tid.0 as u32))
}

/// Returns the mapped code of a process.
pub(crate) fn code_of(pid: u32) -> std::io::Result<Vec<crate::recording::Mapping>> {
    let tid = i32::try_from(pid).map_err(|_| status::gone())?;
    let code = maps::executable(ptrace::Tid(tid))?;
    Ok(code.into_iter().map(|code| code.mapping).collect())
}

/// Returns the process of a thread.
pub(crate) fn process_of(tid: u32) -> std::io::Result<u32> {
    let tid = i32::try_from(tid).map_err(|_| status::gone())?;
    status::process_of(ptrace::Tid(tid)).map(|process| process as u32)
}
