//! With tracing compiled out, functions have the same machine code with and without trace points.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The assembly of the subject, compiled with `flags`.
fn assembly(flags: &[&str]) -> Vec<String> {
    let folder = package();
    let output = folder.join(format!("{}.s", flags.concat()));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--quiet", "--release", "--lib", "--"]);
    cargo.args(["-C", "codegen-units=1", "-C", "debuginfo=0"]).args(flags);
    cargo.arg(format!("--emit=asm={}", output.display()));
    let status = cargo.current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target")).status();
    assert!(status.expect("cargo can be started").success(), "{cargo:?}");
    let text = fs::read_to_string(output).expect("rustc wrote the assembly");
    text.lines().map(without_hashes).filter(|line| !line.starts_with("\t.file")).collect()
}

/// Creates a package for the subject, with the feature that compiles tracing out.
fn package() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machine_code");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = format!(
        "[package]\nname = \"subject\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[lib]\npath = {:?}\n\
         [lints.rust]\nunexpected_cfgs = \"allow\"\n\
         [dependencies]\ntrace-runtime = {{ path = {:?}, features = [\"ntrace\"] }}\n",
        root.join("tests/machine_code/subject.rs"),
        root.join("trace-runtime"),
    );
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

/// Returns a line without hashes of 16 or more digits, which depend on the compiler's flags.
fn without_hashes(line: &str) -> String {
    let is_digit = |character: char| character.is_ascii_hexdigit();
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(is_digit) {
        let (before, from) = rest.split_at(start);
        let (digits, behind) = from.split_at(from.find(|c| !is_digit(c)).unwrap_or(from.len()));
        kept.push_str(before);
        kept.push_str(if digits.len() >= 16 { "#" } else { digits });
        rest = behind;
    }
    kept + rest
}

/// Returns the first lines in which two texts differ.
fn difference(left: &[String], right: &[String]) -> Option<String> {
    if left == right {
        return None;
    }
    let index = left
        .iter()
        .zip(right)
        .position(|(left, right)| left != right)
        .unwrap_or(left.len().min(right.len()));
    let around = |lines: &[String]| {
        lines.iter().skip(index.saturating_sub(5)).take(15).cloned().collect::<Vec<_>>().join("\n")
    };
    Some(format!("line {index}:\n{}\n--- against ---\n{}", around(left), around(right)))
}

#[test]
fn trace_points_leave_no_machine_code() {
    let without = assembly(&[]);
    for function in
        ["plain:", "arguments:", "result:", "with_panic:", "call_generic:", "poll_all:", "macros:"]
    {
        assert!(without.iter().any(|line| line == function), "{function} is not in the assembly");
    }
    if let Some(difference) = difference(&assembly(&["--cfg", "traced"]), &without) {
        panic!("{difference}");
    }
    // One more instruction would be detected.
    assert!(difference(&assembly(&["--cfg", "changed"]), &without).is_some());
}
