//! `trace completions`

use std::io::{self, Write};

use anyhow::Result;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::{Cli, CompletionsArgs};
use crate::exit;

pub(crate) fn run(args: &CompletionsArgs) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut listed(), "trace", &mut script);
    if args.shell == Shell::Bash {
        script = files_first(&String::from_utf8(script)?).into_bytes();
    }
    io::stdout().write_all(&script)?;
    Ok(exit::OK)
}

/// What the generator for bash completes after the options of a command.
const OPTIONS: &str = "            COMPREPLY=( $(compgen -W \"${opts}\" -- \"${cur}\") )\n";

/// Returns the script with options only for words that begin with `-` after a command without
/// subcommands and values: bash completes files if the function has no words.
fn files_first(script: &str) -> String {
    let mut is_leaf = false;
    let mut text = String::with_capacity(script.len());
    for line in script.split_inclusive('\n') {
        if let Some(words) = line.trim().strip_prefix("opts=\"") {
            is_leaf = words.trim_end_matches('"').split(' ').all(|word| word.starts_with('-'));
        }
        let condition = line.find(" || ${COMP_CWORD} -eq ").filter(|_| is_leaf);
        match condition.and_then(|start| Some((start, line.find(" ]]")?))) {
            Some((start, end)) => text.extend([&line[..start], &line[end..]]),
            None if is_leaf && line == OPTIONS => {}
            None => text.push_str(line),
        }
    }
    text
}

/// Returns the command line without hidden commands, which the generator for bash includes.
fn listed() -> Command {
    let cli = Cli::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new("trace").version(env!("CARGO_PKG_VERSION")).subcommands(commands)
}
