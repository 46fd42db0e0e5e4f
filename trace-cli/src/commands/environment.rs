//! `trace help environment`

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit;

/// Prints the help of this command, which is about environment variables.
pub(crate) fn run() -> Result<u8> {
    let mut cli = Cli::command();
    let topic = cli.find_subcommand_mut("environment").context("the topic is missing")?;
    topic.print_long_help()?;
    Ok(exit::OK)
}
