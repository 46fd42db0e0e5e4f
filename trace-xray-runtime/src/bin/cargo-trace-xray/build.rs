//! The call of cargo.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::arguments::Build;
use crate::wrapper::{Sleds, CRATES, NEXT, SLEDS};

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
        .env(SLEDS, sleds(build).to_string())
        .env(NEXT, env::var_os(wrapper).unwrap_or_default())
        .env(wrapper, this);
    let status = cargo.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn sleds(build: &Build) -> Sleds {
    Sleds { min_instructions: build.min_instructions, is_stable: build.is_stable }
}

/// Returns the directory of the output: one in the usual one for each choice of crates and option,
/// since cargo does not know that they change what is compiled.
fn target_directory(build: &Build) -> Result<PathBuf, String> {
    let usual = match &build.target {
        Some(directory) => PathBuf::from(directory),
        None => usual_target(build)?,
    };
    Ok(usual.join(directory_name(build)))
}

/// Returns a name that no other choice has: names of crates have neither `+` nor `.`.
fn directory_name(build: &Build) -> String {
    let mut name = match build.crates.as_deref() {
        None => "xray".to_owned(),
        Some("*") => "xray-all".to_owned(),
        Some(crates) => format!("xray+{}", crates.replace(',', "+")),
    };
    if build.min_instructions > 0 {
        name.push_str(&format!(".{}", build.min_instructions));
    }
    if build.is_stable {
        name.push_str(".stable");
    }
    name
}

/// Returns cargo's target directory, by its options, environment and configuration.
fn usual_target(build: &Build) -> Result<PathBuf, String> {
    let mut cargo = Command::new(cargo());
    cargo.args(["metadata", "--format-version", "1", "--no-deps"]);
    if let Some(manifest) = &build.manifest {
        cargo.arg("--manifest-path").arg(manifest);
    }
    let output = cargo.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cannot read the output of cargo metadata: {error}"))?;
    let directory = metadata.get("target_directory").and_then(Value::as_str);
    directory.map(PathBuf::from).ok_or_else(|| "cannot find cargo's target directory".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_has_a_directory() {
        let choice = |crates: Option<&str>, min_instructions| {
            let crates = crates.map(str::to_owned);
            directory_name(&Build { crates, min_instructions, ..Build::default() })
        };
        assert_eq!(choice(None, 0), "xray");
        assert_eq!(choice(None, 50), "xray.50");
        assert_eq!(choice(Some("*"), 0), "xray-all");
        assert_eq!(choice(Some("all"), 0), "xray+all");
        assert_eq!(choice(Some("a,b"), 5), "xray+a+b.5");
        assert_eq!(choice(Some("a_b"), 0), "xray+a_b");
        let stable = Build { is_stable: true, ..Build::default() };
        assert_eq!(directory_name(&stable), "xray.stable");
    }
}
