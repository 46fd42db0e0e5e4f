//! The call of cargo.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Build;
use crate::wrapper::{CRATES, NEXT, OPTION};

/// Runs cargo with this program as its wrapper of the compiler. Returns its exit status.
pub(crate) fn run(build: &Build) -> Result<u8, String> {
    let this = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    // The wrapper of a workspace's crates is not called for others.
    let wrapper = match build.crates {
        Some(_) => "RUSTC_WRAPPER",
        None => "RUSTC_WORKSPACE_WRAPPER",
    };
    let mut cargo = Command::new(cargo());
    cargo
        .arg(&build.command)
        .args(&build.arguments)
        .env("CARGO_TARGET_DIR", target_directory(build)?)
        .env(CRATES, build.crates.as_deref().unwrap_or("*"))
        .env(OPTION, option(build))
        .env(NEXT, env::var_os(wrapper).unwrap_or_default())
        .env(wrapper, this);
    let status = cargo.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Returns the compiler's option for sleds.
fn option(build: &Build) -> String {
    match build.min_instructions {
        0 => "-Zinstrument-xray=always".to_owned(),
        number => format!("-Zinstrument-xray=instruction-threshold={number}"),
    }
}

/// Returns the directory of the output: `xray` in the usual one, and in that one for each choice of
/// crates and option, since cargo does not know that they change what is compiled.
fn target_directory(build: &Build) -> Result<PathBuf, String> {
    let usual = match env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => workspace()?.join("target"),
    };
    let mut name = String::from("xray");
    if let Some(crates) = &build.crates {
        name.push('-');
        name.push_str(&crates.replace('*', "all").replace(['/', ','], "-"));
    }
    if build.min_instructions > 0 {
        name.push_str(&format!("-{}", build.min_instructions));
    }
    Ok(usual.join(name))
}

/// Returns the directory of the workspace.
fn workspace() -> Result<PathBuf, String> {
    let mut cargo = Command::new(cargo());
    cargo.args(["locate-project", "--workspace", "--message-format", "plain"]);
    let output = cargo.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let path = String::from_utf8_lossy(&output.stdout);
    let directory = Path::new(path.trim()).parent();
    directory.map(Path::to_owned).ok_or_else(|| "cannot find the workspace".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_that_of_the_compiler() {
        let all = Build::default();
        assert_eq!(option(&all), "-Zinstrument-xray=always");
        let some = Build { min_instructions: 50, ..all };
        assert_eq!(option(&some), "-Zinstrument-xray=instruction-threshold=50");
    }
}
