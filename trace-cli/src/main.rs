//! The `trace` command.
#![forbid(unsafe_code)]

mod args;
mod arguments;
mod cli;
mod commands;
mod compression;
mod configuration;
mod daemon_client;
mod damage;
mod defaults;
mod descriptors;
mod exit;
mod ignored_signals;
mod input;
mod insn_session;
mod known;
mod live;
mod log_damage;
mod logs;
mod losses;
mod message;
mod names;
mod near;
mod output;
mod progress;
mod recorders;
mod rows;
mod sampled;
mod sessions;
mod switches;
mod table;
mod times;
mod unmatched;
mod unreadable;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, FromArgMatches};

use message::{describe, say};

fn main() -> ExitCode {
    output::refuse_large_files_with_an_error();
    // With file capabilities for the helper, other commands would read and write files of others.
    let is_helper = env::args_os().nth(1).is_some_and(|command| command == "kernel-server");
    if trace_kernel::live::is_privileged() && !is_helper {
        say("this program has privileges of its own, and runs only `kernel-server`");
        return exit::USAGE.into();
    }
    let command = match defaults::apply(cli::Cli::command(), env::args_os()) {
        Ok(command) => command,
        Err(error) => {
            say(&describe(error.as_ref()));
            return exit::USAGE.into();
        }
    };
    let matches = command.try_get_matches();
    let parsed = matches.and_then(|matches| cli::Cli::from_arg_matches(&matches));
    let cli = match parsed.and_then(cli::Cli::check) {
        Ok(cli) => cli,
        Err(error) => return answer(error).into(),
    };
    match commands::run(&cli.command) {
        Ok(code) => code.into(),
        Err(error) if is_broken_pipe(&error) => exit::OK.into(),
        Err(error) => {
            say(&describe(error.as_ref()));
            exit::FAILURE.into()
        }
    }
}

/// Prints the help, the version or a usage error.
fn answer(mut error: clap::Error) -> u8 {
    if error.kind() == ErrorKind::UnknownArgument {
        // It explains how to pass the option as a value, which is rarely meant.
        error.remove(ContextKind::Suggested);
    }
    let _ = error.print();
    let is_help = || env::args_os().nth(1).is_some_and(|command| command == "help");
    if error.kind() == ErrorKind::InvalidSubcommand && is_help() {
        let _ = writeln!(io::stderr(), "hint: {}", exit::TOPICS);
    }
    if error.use_stderr() {
        exit::USAGE
    } else {
        exit::OK
    }
}

/// Returns whether the reader of the output has closed it, as `head` does.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
