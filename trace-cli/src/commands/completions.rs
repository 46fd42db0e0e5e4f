//! `trace completions`

use std::io::{self, Write};

use anyhow::Result;
use clap::{Command, CommandFactory};

use crate::cli::{Cli, CompletionsArgs};
use crate::exit;

pub(crate) fn run(args: &CompletionsArgs) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut listed(), "trace", &mut script);
    io::stdout().write_all(&script)?;
    Ok(exit::OK)
}

/// Returns the command line without hidden commands, which the generator for bash includes.
fn listed() -> Command {
    let cli = Cli::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new("trace").version(env!("CARGO_PKG_VERSION")).subcommands(commands)
}
