//! `trace insn`

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod engine;
mod print;
mod record;

use anyhow::Result;

use crate::cli::{InsnArgs, InsnCommand};

pub(crate) fn run(args: &InsnArgs) -> Result<u8> {
    match &args.command {
        InsnCommand::Record(args) => record::run(args),
        InsnCommand::Print(args) => print::run(args),
        InsnCommand::Engine(args) => engine::run(args),
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod engine {
    use super::Result;
    use crate::cli::InsnRecordArgs;

    pub(super) fn run(_: &InsnRecordArgs) -> Result<u8> {
        anyhow::bail!("instructions cannot be recorded on this processor")
    }
}
