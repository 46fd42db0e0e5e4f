//! The program `trace-query`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    trace_lake::command::main()
}
