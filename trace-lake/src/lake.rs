//! `trace lake`: many archives in one store.

mod add;
mod amount;
mod check;
mod clean;
pub mod cli;
#[cfg(feature = "cluster")]
pub(crate) mod cluster;
mod compact;
mod labels;
mod list;
mod program;
mod report;
mod retain;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result};

#[cfg(not(feature = "cluster"))]
use crate::message::no_cluster;
use crate::session;
use cli::{Command, LakeCli};

/// Runs a command, and returns the exit status.
///
/// # Errors
///
/// The command failed.
pub(crate) fn run(cli: &LakeCli) -> Result<u8> {
    let runtime = session::runtime().context("cannot start threads")?;
    runtime.block_on(async {
        match &cli.command {
            Command::Add(args) => add::run(args).await,
            Command::List(args) => list::run(args).await,
            Command::Check(args) => check::run(args).await,
            Command::Compact(args) => compact::run(args).await,
            Command::Retain(args) => retain::run(args).await,
            Command::Report(args) => report::run(args).await,
            #[cfg(feature = "cluster")]
            Command::Scheduler(args) => cluster::run_scheduler(args).await,
            #[cfg(feature = "cluster")]
            Command::Executor(args) => cluster::run_executor(args).await,
            #[cfg(not(feature = "cluster"))]
            Command::Scheduler(_) | Command::Executor(_) => Err(no_cluster()),
        }
    })
}
