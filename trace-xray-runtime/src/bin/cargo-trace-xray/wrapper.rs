//! The place of the compiler: crates get sleds, or are compiled as ever.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::Command;

use crate::compiler::run;
use crate::twice;

/// The variable with the names of crates, or `*`. It is set while this program is the wrapper.
pub(crate) const CRATES: &str = "CARGO_TRACE_XRAY_CRATES";
/// The variable with the sleds that the crates get.
pub(crate) const SLEDS: &str = "CARGO_TRACE_XRAY_SLEDS";
/// The variable with the wrapper that this one calls, if the user has one.
pub(crate) const NEXT: &str = "CARGO_TRACE_XRAY_NEXT";

/// The sleds of a crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sleds {
    /// The least number of instructions of a function without a loop.
    pub(crate) min_instructions: u32,
    /// Whether unstable options of the compiler must not be used.
    pub(crate) is_stable: bool,
}

impl fmt::Display for Sleds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_stable { "stable" } else { "unstable" };
        write!(f, "{kind} {}", self.min_instructions)
    }
}

impl Sleds {
    fn parse(text: &str) -> Option<Self> {
        let (kind, number) = text.split_once(' ')?;
        Some(Self { min_instructions: number.parse().ok()?, is_stable: kind == "stable" })
    }

    /// Returns the compiler's unstable option.
    fn option(self) -> String {
        match self.min_instructions {
            0 => "-Zinstrument-xray=always".to_owned(),
            number => format!("-Zinstrument-xray=instruction-threshold={number}"),
        }
    }
}

/// Returns the names of crates if cargo calls this program as its wrapper.
pub(crate) fn crates() -> Option<String> {
    env::var(CRATES).ok()
}

/// Calls the compiler, which is the first argument. Returns its exit status.
pub(crate) fn compile(arguments: &[OsString], crates: &str) -> Result<u8, String> {
    let next = env::var_os(NEXT).filter(|next| !next.is_empty());
    let line: Vec<&OsStr> = next.iter().chain(arguments).map(OsString::as_os_str).collect();
    let Some((program, rest)) = line.split_first() else {
        return Err("expected the arguments of a compiler".to_owned());
    };
    let mut compiler = Command::new(program);
    compiler.args(rest);
    let sleds = env::var(SLEDS).ok().and_then(|sleds| Sleds::parse(&sleds));
    let Some(sleds) = sleds.filter(|_| has_sleds(arguments, crates)) else {
        return run(&mut compiler);
    };
    // Functions have the names of the symbols, which profiles for releases often remove.
    compiler.arg("-Cstrip=none");
    if sleds.is_stable {
        return twice::compile(compiler, sleds.min_instructions);
    }
    // The option is unstable.
    run(compiler.env("RUSTC_BOOTSTRAP", "1").arg(sleds.option()))
}

/// Returns whether the compiled crate is one of these, and part of the program: build scripts and
/// procedural macros run in the compiler.
fn has_sleds(arguments: &[OsString], crates: &str) -> bool {
    let Some(name) = value(arguments, "--crate-name") else { return false };
    let runs_in_compiler =
        value(arguments, "--crate-type") == Some("proc-macro") || name.starts_with("build_script_");
    let is_named = |wanted: &str| wanted == "*" || wanted.trim().replace('-', "_") == name;
    !runs_in_compiler && name != "___" && crates.split(',').any(is_named)
}

/// Returns the argument behind a name.
fn value<'a>(arguments: &'a [OsString], name: &str) -> Option<&'a str> {
    let place = arguments.iter().position(|argument| argument == name)?;
    arguments.get(place + 1)?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_that_of_the_compiler() {
        let sleds = |text| Sleds::parse(text).unwrap();
        assert_eq!(sleds("unstable 0").option(), "-Zinstrument-xray=always");
        assert_eq!(sleds("unstable 50").option(), "-Zinstrument-xray=instruction-threshold=50");
        assert_eq!(sleds("stable 7"), Sleds { min_instructions: 7, is_stable: true });
        assert_eq!(sleds("stable 7").to_string(), "stable 7");
    }

    #[test]
    fn selected_crates_have_sleds() {
        for (line, crates, expected) in [
            ("rustc --crate-name app --crate-type bin", "*", true),
            ("rustc --crate-name my_app --crate-type bin", "x,my-app", true),
            ("rustc --crate-name other --crate-type lib", "app,my-app", false),
            ("rustc --crate-name macros --crate-type proc-macro", "*", false),
            ("rustc --crate-name build_script_build --crate-type bin", "*", false),
            ("rustc -vV", "*", false),
            // Cargo's question for the target's properties.
            ("rustc - --crate-name ___ --print=file-names", "*", false),
        ] {
            let arguments: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(has_sleds(&arguments, crates), expected, "{line}");
        }
    }
}
