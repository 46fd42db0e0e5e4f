//! The command line.

use std::ffi::{OsStr, OsString};

pub(crate) const HELP: &str = "\
Build, run or test a package so that `trace record --xray` records its functions

Usage: cargo trace-xray <build|run|test> [OPTIONS] [ARGUMENTS OF CARGO]

Options:
  --crates LIST      Crates whose functions get sleds, such as app,serde, or `*` for all but
                     the standard library, build scripts and procedural macros
                     [default: those of the workspace]
  --min-instructions N
                     Leave out functions of fewer instructions that have no loop [default: 0]
  --stable           Use no unstable option of the compiler: each crate is compiled twice.
                     Requires optimization, as with --release
  -h, --help         Print help

The output is in target/xray, where `target` is the target directory of cargo, and with
these options in a directory beside it, such as target/xray+app+serde.50. A sled is a NOP until a session records it. Functions
that the compiler inlines have none. The compiler's option is unstable: on a stable
toolchain, RUSTC_BOOTSTRAP=1 is set for these crates, unless --stable is given.

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
    /// Whether unstable options of the compiler must not be used.
    pub(crate) is_stable: bool,
    /// The manifest and the target directory, if they are not the usual ones.
    pub(crate) manifest: Option<OsString>,
    pub(crate) target: Option<OsString>,
    /// The arguments of cargo behind the command, without the target directory.
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
            let value = attached.clone().or_else(|| rest.next().cloned());
            value.filter(|value| !value.is_empty()).ok_or(format!("{name}: a value is missing"))
        };
        match name {
            Some("-h" | "--help") => return Ok(Parsed::Help),
            Some("--crates") => build.crates = Some(crates(&value("--crates")?)?),
            Some("--min-instructions") => build.min_instructions = number(&value(OF_NUMBER)?)?,
            Some("--stable") => build.is_stable = true,
            Some("--target-dir") => build.target = Some(value("--target-dir")?),
            Some("--manifest-path") => {
                let manifest = value("--manifest-path")?;
                build.arguments.extend(["--manifest-path".into(), manifest.clone()]);
                build.manifest = Some(manifest);
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

const OF_NUMBER: &str = "--min-instructions";

fn number(value: &OsStr) -> Result<u32, String> {
    let value = value.to_string_lossy();
    value.parse().map_err(|_| format!("{OF_NUMBER}: '{value}' is not a number"))
}

/// Returns a list of crates, sorted, with the names that the compiler has.
fn crates(list: &OsStr) -> Result<String, String> {
    let list = list.to_string_lossy();
    let mut names: Vec<String> = Vec::new();
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let is_name = name.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
        if !is_name && name != "*" {
            return Err(format!("--crates: '{name}' is not the name of a crate"));
        }
        names.push(name.replace('-', "_"));
    }
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => Err(format!("--crates: the list '{list}' has no name")),
        false if names.iter().any(|name| name == "*") => Ok("*".to_owned()),
        false => Ok(names.join(",")),
    }
}

/// The options that are read here.
const OWN: [&str; 4] = ["--crates", OF_NUMBER, "--target-dir", "--manifest-path"];

/// Returns an option that is read here and the value that is attached to it, as in `--crates=app`.
/// Other arguments are whole.
fn split(argument: &OsString) -> (Option<&str>, Option<OsString>) {
    let whole = argument.to_str();
    match whole.and_then(|argument| argument.split_once('=')) {
        Some((name, value)) if OWN.contains(&name) => (Some(name), Some(value.into())),
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
        let line =
            "trace-xray --crates a,b run --stable --release --min-instructions 50 -- --crates c";
        let expected = Build {
            command: "run".into(),
            crates: Some("a,b".to_owned()),
            min_instructions: 50,
            is_stable: true,
            arguments: ["--release", "--", "--crates", "c"].map(OsString::from).to_vec(),
            ..Build::default()
        };
        assert_eq!(parsed(line).as_ref(), Ok(&Parsed::Build(expected)));
        let attached =
            line.replace("crates a", "crates=a").replace("instructions ", "instructions=");
        assert_eq!(parsed(&attached), parsed(line));
    }

    #[test]
    fn the_places_of_manifest_and_output_are_known() {
        for line in [
            "build --manifest-path a/Cargo.toml --target-dir t -v",
            "build --manifest-path=a/Cargo.toml --target-dir=t -v",
        ] {
            let expected = Build {
                command: "build".into(),
                manifest: Some("a/Cargo.toml".into()),
                target: Some("t".into()),
                arguments: ["--manifest-path", "a/Cargo.toml", "-v"].map(OsString::from).to_vec(),
                ..Build::default()
            };
            assert_eq!(parsed(line), Ok(Parsed::Build(expected)));
        }
    }

    #[test]
    fn a_list_of_crates_has_one_form() {
        let crates = |list: &str| crates(OsStr::new(list));
        assert_eq!(crates("my-app, a,,my_app"), Ok("a,my_app".to_owned()));
        assert_eq!(crates("a,*"), Ok("*".to_owned()));
    }

    #[test]
    fn wrong_arguments_are_errors() {
        assert_eq!(parsed("trace-xray --help"), Ok(Parsed::Help));
        for (line, message) in [
            ("trace-xray", "expected build"),
            ("trace-xray bench", "'bench' is not build"),
            ("trace-xray build --crates", "--crates: a value is missing"),
            ("trace-xray build --crates=", "--crates: a value is missing"),
            ("trace-xray build --crates ,", "--crates: the list ',' has no name"),
            ("trace-xray build --crates=a,../b", "'../b' is not the name of a crate"),
            ("trace-xray build --min-instructions x", "'x' is not a number"),
        ] {
            assert!(parsed(line).unwrap_err().contains(message), "{line}");
        }
    }
}
