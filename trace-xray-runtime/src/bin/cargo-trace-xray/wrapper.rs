//! The place of the compiler: crates get sleds, or are compiled as ever.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The variable with the names of crates, or `*`. It is set while this program is the wrapper.
pub(crate) const CRATES: &str = "CARGO_TRACE_XRAY_CRATES";
/// The variable with the compiler's option.
pub(crate) const OPTION: &str = "CARGO_TRACE_XRAY_OPTION";
/// The variable with the wrapper that this one calls, if the user has one.
pub(crate) const NEXT: &str = "CARGO_TRACE_XRAY_NEXT";

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
    if has_sleds(arguments, crates) {
        // The option is unstable.
        compiler.env("RUSTC_BOOTSTRAP", "1").args(env::var_os(OPTION));
    }
    let status = compiler.status();
    let status =
        status.map_err(|error| format!("cannot run {}: {error}", program.to_string_lossy()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
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
