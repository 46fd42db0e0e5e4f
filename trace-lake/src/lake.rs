//! `trace lake`: many archives in one store.

mod add;
mod amount;
mod clean;
pub mod cli;
mod compact;
mod labels;
mod list;
mod report;
mod retain;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result};

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
            Command::Compact(args) => compact::run(args).await,
            Command::Retain(args) => retain::run(args).await,
            Command::Report(args) => report::run(args).await,
        }
    })
}
