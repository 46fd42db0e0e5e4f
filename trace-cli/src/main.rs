//! The `trace` command.
#![forbid(unsafe_code)]

mod args;
mod cli;
mod commands;
mod exit;
mod input;
mod output;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::run(&cli::Cli::parse().command) {
        Ok(code) => code.into(),
        Err(error) if is_broken_pipe(&error) => exit::OK.into(),
        Err(error) => {
            say(&format!("{error:#}"));
            exit::FAILURE.into()
        }
    }
}

/// Tells whether whoever reads the output wants no more of it, as `head` does.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Tells the user something. There is no one to tell if that fails.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "trace: {message}");
}
