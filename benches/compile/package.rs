//! A package in a scratch directory, built by cargo.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::subjects::Subject;

/// A package with one program.
pub(crate) struct Package {
    directory: PathBuf,
}

impl Package {
    /// Creates the package of `subject` in a directory of its own.
    pub(crate) fn create(scratch: &Path, subject: &Subject) -> io::Result<Self> {
        let name = format!("{} {}", subject.functions, subject.name);
        let directory = scratch.join(name.replace([' ', ','], "-"));
        fs::create_dir_all(directory.join("src"))?;
        fs::write(directory.join("Cargo.toml"), manifest(subject))?;
        fs::write(directory.join("src/main.rs"), source(subject))?;
        Ok(Self { directory })
    }

    /// Fetches the dependencies, so that no build waits for the network.
    pub(crate) fn fetch(&self) -> Result<(), String> {
        self.cargo(&["fetch"]).map(drop)
    }

    /// Builds the package and its dependencies.
    pub(crate) fn build(&self, release: bool) -> Result<Duration, String> {
        let start = Instant::now();
        self.cargo(if release { &["build", "--release"] } else { &["build"] })?;
        Ok(start.elapsed())
    }

    /// Rebuilds only the package, as after a change.
    pub(crate) fn rebuild(&self, release: bool) -> Result<Duration, String> {
        let source = fs::File::options().append(true).open(self.directory.join("src/main.rs"));
        let touched = source.and_then(|source| source.set_modified(SystemTime::now()));
        touched.map_err(|error| error.to_string())?;
        self.build(release)
    }

    /// Bytes of the release program, without symbols.
    pub(crate) fn program_size(&self) -> u64 {
        fs::metadata(self.directory.join("target/release/subject"))
            .map_or(0, |program| program.len())
    }

    fn cargo(&self, arguments: &[&str]) -> Result<(), String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(arguments)
            .args(["--quiet"])
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", self.directory.join("target"))
            .env("CARGO_INCREMENTAL", "0")
            .output()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(last_line(&output.stderr)),
        }
    }
}

fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("cargo printed no error")
        .to_owned()
}

fn manifest(subject: &Subject) -> String {
    let dependencies = subject.dependencies.replace("{root}", env!("CARGO_MANIFEST_DIR"));
    format!(
        "[package]\nname = \"subject\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [dependencies]\n{dependencies}\n\n[profile.release]\nstrip = true\n\n[workspace]\n"
    )
}

/// Functions with a trace point each, and a `main` that calls them.
fn source(subject: &Subject) -> String {
    let mut source = String::new();
    let mut calls = String::new();
    for number in 0..subject.functions {
        let numbered = |text: &str| text.replace("{n}", &number.to_string());
        let (attribute, statement) = (numbered(subject.attribute), numbered(subject.statement));
        let _ = write!(
            source,
            "{attribute}\n#[inline(never)]\nfn function_{number}(x: u64) -> u64 {{\n    {statement}\n    \
             std::hint::black_box(x.wrapping_mul({number} + 3) ^ 1)\n}}\n\n"
        );
        let _ = writeln!(calls, "    x = function_{number}(x);");
    }
    format!("{source}fn main() {{\n    let mut x = 1;\n{calls}    println!(\"{{x}}\");\n}}\n")
}
