//! The `trace` command.
#![forbid(unsafe_code)]

mod args;
mod cli;
mod commands;
mod compression;
mod damage;
mod descriptors;
mod exit;
mod input;
mod output;
mod progress;
mod table;
mod unmatched;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use trace_convert::visible;

fn main() -> ExitCode {
    output::refuse_large_files_with_an_error();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return answer(&error).into(),
    };
    match commands::run(&cli.command) {
        Ok(code) => code.into(),
        Err(error) if is_broken_pipe(&error) => exit::OK.into(),
        Err(error) => {
            say(&format!("{error:#}"));
            exit::FAILURE.into()
        }
    }
}

/// Prints what the command line asks for, help or version, or what is wrong
/// with it.
fn answer(error: &clap::Error) -> u8 {
    let _ = error.print();
    if error.use_stderr() {
        exit::USAGE
    } else {
        exit::OK
    }
}

/// Tells whether whoever reads the output wants no more of it, as `head` does.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Tells the user something, in one line whatever names are in it. There is no one to tell if that
/// fails.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "trace: {}", visible(message));
}
