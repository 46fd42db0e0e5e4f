//! The command line.

use std::ffi::OsString;

pub(crate) const HELP: &str = "\
Build, run or test a package so that `trace record --xray` records its functions

Usage: cargo trace-xray <build|run|test> [OPTIONS] [ARGUMENTS OF CARGO]

Options:
  --crates LIST      Crates whose functions get sleds, such as app,serde, or `*` for all but
                     the standard library, build scripts and procedural macros
                     [default: those of the workspace]
  --min-instructions N
                     Leave out functions of fewer instructions that have no loop [default: 0]
  -h, --help         Print help

The output is in target/xray. A sled is a NOP until a session records it. Functions
that the compiler inlines have none. The compiler's option is unstable: on a stable
toolchain, RUSTC_BOOTSTRAP=1 is set for these crates.

Example:
  cargo trace-xray build --release
  trace record --xray -o app.fxt -- target/xray/release/app
  trace stats app.fxt
";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Help,
    Build(Build),
}

/// A call of cargo.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Build {
    /// `build`, `run` or `test`.
    pub(crate) command: OsString,
    /// The names of crates, or `None` for those of the workspace.
    pub(crate) crates: Option<String>,
    pub(crate) min_instructions: u32,
    /// The arguments of cargo behind the command.
    pub(crate) arguments: Vec<OsString>,
}

/// Reads the arguments, the first of which is the name of the command if cargo calls.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Parsed, String> {
    let mut rest = arguments.iter().peekable();
    if rest.peek().is_some_and(|first| *first == "trace-xray") {
        rest.next();
    }
    let mut build = Build::default();
    while let Some(argument) = rest.next() {
        let (name, attached) = split(argument);
        let mut value = |name: &str| {
            let value = attached.or_else(|| rest.next().and_then(|value| value.to_str()));
            value.filter(|value| !value.is_empty()).ok_or(format!("{name}: a value is missing"))
        };
        match name {
            Some("-h" | "--help") => return Ok(Parsed::Help),
            Some("--crates") => build.crates = Some(value("--crates")?.to_owned()),
            Some("--min-instructions") => {
                let number = value("--min-instructions")?;
                let invalid = |_| format!("--min-instructions: '{number}' is not a number");
                build.min_instructions = number.parse().map_err(invalid)?;
            }
            Some("--") => {
                build.arguments.push(argument.clone());
                build.arguments.extend(rest.by_ref().cloned());
            }
            _ if build.command.is_empty() => build.command.clone_from(argument),
            _ => build.arguments.push(argument.clone()),
        }
    }
    match build.command.to_str() {
        Some("build" | "run" | "test") => Ok(Parsed::Build(build)),
        Some("") => Err("expected build, run or test; see --help".to_owned()),
        _ => Err(format!(
            "'{}' is not build, run or test; see --help",
            build.command.to_string_lossy()
        )),
    }
}

/// Returns an own option and the value that is attached to it, as in `--crates=app`. Other
/// arguments are whole.
fn split(argument: &OsString) -> (Option<&str>, Option<&str>) {
    let whole = argument.to_str();
    match whole.and_then(|argument| argument.split_once('=')) {
        Some((name @ ("--crates" | "--min-instructions"), value)) => (Some(name), Some(value)),
        _ => (whole, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Parsed, String> {
        parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn own_options_are_taken_and_others_are_cargos() {
        let line = "trace-xray --crates a,b run --release --min-instructions 50 -- --crates c";
        let expected = Build {
            command: "run".into(),
            crates: Some("a,b".to_owned()),
            min_instructions: 50,
            arguments: ["--release", "--", "--crates", "c"].map(OsString::from).to_vec(),
        };
        assert_eq!(parsed(line).as_ref(), Ok(&Parsed::Build(expected)));
        let attached =
            line.replace("crates a", "crates=a").replace("instructions ", "instructions=");
        assert_eq!(parsed(&attached), parsed(line));
    }

    #[test]
    fn wrong_arguments_are_errors() {
        assert_eq!(parsed("trace-xray --help"), Ok(Parsed::Help));
        for (line, message) in [
            ("trace-xray", "expected build"),
            ("trace-xray bench", "'bench' is not build"),
            ("trace-xray build --crates", "--crates: a value is missing"),
            ("trace-xray build --crates=", "--crates: a value is missing"),
            ("trace-xray build --min-instructions x", "'x' is not a number"),
        ] {
            assert!(parsed(line).unwrap_err().contains(message), "{line}");
        }
    }
}
