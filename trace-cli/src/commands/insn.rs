//! `trace insn`

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod control;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod engine;
mod engine_process;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod files;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod hardware;
mod imported;
mod print;
mod record;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod report;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod service;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod session;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod snapshot;

use anyhow::Result;

use crate::cli::{InsnArgs, InsnCommand};

pub(crate) fn run(args: &InsnArgs) -> Result<u8> {
    match &args.command {
        InsnCommand::Record(args) => record::run(args),
        InsnCommand::Print(args) => print::run(args),
        InsnCommand::Engine(args) => engine::run(args),
        InsnCommand::Service(args) => service::run(args),
        InsnCommand::Control(command) => control::run(command),
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod engine {
    use super::Result;

    pub(super) fn run<T>(_: &T) -> Result<u8> {
        anyhow::bail!("instructions cannot be recorded on this processor")
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
use engine::{self as hardware, self as service, self as control};
