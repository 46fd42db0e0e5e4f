//! The compiler as a process.

use std::io;
use std::process::{Command, ExitStatus};

/// Runs a compiler. Returns its exit status.
pub(crate) fn run(compiler: &mut Command) -> Result<u8, String> {
    let status = compiler.status().map_err(|error| failed(compiler, &error))?;
    Ok(code(status))
}

/// Returns the exit status of a compiler as that of this program.
pub(crate) fn code(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Returns the message about a compiler that cannot be run.
pub(crate) fn failed(compiler: &Command, error: &io::Error) -> String {
    format!("cannot run {}: {error}", compiler.get_program().to_string_lossy())
}
