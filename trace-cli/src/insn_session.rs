//! What `trace insn record` passes to the `trace record` that it becomes.

use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;

use crate::cli::{Cli, Command, InsnCommand};

/// A limit that no duration exceeds. Sites with such a condition announce their scopes.
pub(crate) const NEVER: Duration = Duration::from_nanos(u64::MAX);

/// Returns the program that is recorded by a command of `trace record`: that of the command, if it
/// is the process that traces instructions.
pub(crate) fn program(command: &[OsString]) -> &[OsString] {
    let is_engine = command.iter().skip(1).take(2).eq(["insn", "engine"]);
    let parsed = is_engine.then(|| Cli::try_parse_from(command).ok()).flatten();
    let words = parsed.and_then(|cli| match cli.command {
        Command::Insn(insn) => match insn.command {
            InsnCommand::Engine(engine) => Some(engine.record.program.len()),
            _ => None,
        },
        _ => None,
    });
    let program = words.and_then(|words| command.get(command.len().checked_sub(words)?..));
    program.unwrap_or(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_behind_the_options_of_the_engine() {
        let of = |line: &str| -> String {
            let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let words = program(&command).iter().map(|word| word.to_string_lossy());
            words.collect::<Vec<_>>().join(" ")
        };
        let engine = "trace insn engine --parent 1 --ignored 0 --in-scope a/b -o d";
        assert_eq!(of(&format!("{engine} -- ./server -x -- y")), "./server -x -- y");
        assert_eq!(of(&format!("{engine} ./server -x -- y")), "./server -x -- y");
        assert_eq!(of("./server insn engine"), "./server insn engine");
        assert_eq!(of("./server"), "./server");
    }
}
