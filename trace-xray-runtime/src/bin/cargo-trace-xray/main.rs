//! `cargo trace-xray`: builds, runs or tests a package with XRay's sleds.
//!
//! Cargo calls this program in place of the compiler, too (`wrapper`): so the crates that are to
//! have sleds get them, and all others are compiled as ever.

#![forbid(unsafe_code)]

mod arguments;
mod build;
mod compiler;
mod twice;
mod wrapper;

use std::process::ExitCode;

use arguments::Parsed;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(crates) = wrapper::crates() {
        return ended(wrapper::compile(&arguments, &crates));
    }
    match arguments::parse(&arguments) {
        Ok(Parsed::Help) => {
            print!("{}", arguments::HELP);
            ExitCode::SUCCESS
        }
        Ok(Parsed::Build(build)) => ended(build::run(&build)),
        Err(message) => {
            eprintln!("cargo trace-xray: {message}");
            ExitCode::from(2)
        }
    }
}

/// Returns the exit status of a command that was run, or reports why it was not.
fn ended(result: Result<u8, String>) -> ExitCode {
    result.map(ExitCode::from).unwrap_or_else(|message| {
        eprintln!("cargo trace-xray: {message}");
        ExitCode::FAILURE
    })
}
