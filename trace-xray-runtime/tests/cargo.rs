//! `cargo trace-xray` with a package and a dependency outside of its workspace.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use trace_xray::map::Map;

const APP: &str = "\
fn main() {
    println!(\"{}\", sum(std::env::args().count()));
}

#[inline(never)]
fn sum(n: usize) -> usize {
    dependency::twice(std::hint::black_box(n)) + 1
}

#[test]
fn sums() {
    assert_eq!(sum(1), 3);
}
";

const DEPENDENCY: &str = "\
#[inline(never)]
pub fn twice(n: usize) -> usize {
    2 * n
}
";

/// Writes the package `app` and its dependency.
fn write_packages(directory: &Path) {
    let write = |path: &str, text: &str| {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    };
    let dependencies = "[dependencies]\ndependency = { path = \"../dependency\" }\n[workspace]\n";
    write("app/Cargo.toml", &format!("{}{dependencies}", package("app")));
    write("app/src/main.rs", APP);
    write("dependency/Cargo.toml", &package("dependency"));
    write("dependency/src/lib.rs", DEPENDENCY);
}

#[track_caller]
fn cargo_trace_xray(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-trace-xray"));
    command.arg("trace-xray").args(arguments).current_dir(directory.join("app"));
    for name in ["CARGO_TARGET_DIR", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    let output = command.arg("--offline").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(!messages.contains("warning"), "{messages}");
    output
}

/// Returns which of the two functions have sleds.
fn functions(directory: &Path, program: &str) -> Vec<String> {
    let program = fs::read(directory.join("app/target").join(program)).unwrap();
    let map = Map::parse(&program).unwrap();
    let names = map.functions().filter_map(|(_, function)| function.name());
    let mut names: Vec<_> =
        names.filter(|name| name.ends_with("::sum") || name.ends_with("::twice")).collect();
    names.sort_unstable();
    names
}

#[test]
fn crates_of_the_workspace_have_sleds_and_others_are_selected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write_packages(path);
    let run = cargo_trace_xray(path, &["run", "--quiet"]);
    assert_eq!(run.stdout, b"3\n");
    assert_eq!(functions(path, "xray/debug/app"), ["app::sum"]);
    cargo_trace_xray(path, &["build", "--crates", "dependency,app"]);
    assert_eq!(functions(path, "xray+app+dependency/debug/app"), ["app::sum", "dependency::twice"]);
    let tested = cargo_trace_xray(path, &["test"]);
    assert!(String::from_utf8_lossy(&tested.stdout).contains("1 passed"), "{tested:?}");
}

/// The program is beside others with its name, and beside those without sleds.
#[test]
fn output_is_in_the_target_directory_of_the_manifest() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write_packages(path);
    fs::create_dir_all(path.join("app/.cargo")).unwrap();
    let cargo = |arguments: &[&str], elsewhere: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-trace-xray"));
        command.args(["trace-xray", "build", "--offline"]).args(arguments);
        command.current_dir(path.join(elsewhere)).env_remove("CARGO_TARGET_DIR");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    cargo(&["--manifest-path", "app/Cargo.toml"], "");
    assert_eq!(functions(path, "xray/debug/app"), ["app::sum"]);
    cargo(&["--target-dir", "target/other"], "app");
    assert_eq!(functions(path, "other/xray/debug/app"), ["app::sum"]);
    fs::write(path.join("app/.cargo/config.toml"), "build.target-dir = \"target/set\"\n").unwrap();
    cargo(&["--crates=app"], "app");
    assert_eq!(functions(path, "set/xray+app/debug/app"), ["app::sum"]);
}

/// Functions are selected by the names of their symbols.
#[test]
fn a_profile_that_strips_programs_keeps_the_names_of_functions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write_packages(path);
    let manifest = path.join("app/Cargo.toml");
    let packages = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, format!("{packages}[profile.release]\nstrip = true\n")).unwrap();
    cargo_trace_xray(path, &["build", "--release"]);
    assert_eq!(functions(path, "xray/release/app"), ["app::sum"]);
    cargo_trace_xray(path, &["build", "--release", "--stable"]);
    assert_eq!(functions(path, "xray.stable/release/app"), ["app::sum"]);
}

/// Cargo compiles the libraries of build scripts without optimization, and with link-time
/// optimization it has the compiler write LLVM's bitcode in place of code.
#[test]
fn stable_builds_have_build_dependencies_and_link_time_optimization() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write_packages(path);
    let manifest = path.join("app/Cargo.toml");
    let packages = fs::read_to_string(&manifest).unwrap();
    let build = "fn main() { assert_eq!(dependency::twice(2), 4); }";
    fs::write(path.join("app/build.rs"), build).unwrap();
    for lto in ["true", "\"thin\"", "\"fat\"", "\"off\""] {
        let more = "[build-dependencies]\ndependency = { path = \"../dependency\" }\n";
        let profile = format!("[profile.release]\nlto = {lto}\n");
        fs::write(&manifest, format!("{packages}{more}{profile}")).unwrap();
        let run = cargo_trace_xray(path, &["run", "--stable", "--release", "--crates", "*"]);
        assert_eq!(run.stdout, b"3\n", "{lto}");
        let program = "xray-all.stable/release/app";
        assert_eq!(functions(path, program), ["app::sum", "dependency::twice"], "{lto}");
    }
}

/// Of a crate that is compiled with optimization.
#[test]
fn sleds_need_no_unstable_option() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write_packages(path);
    let run = cargo_trace_xray(path, &["run", "--stable", "--release", "--crates", "*"]);
    assert_eq!(run.stdout, b"3\n");
    let messages = String::from_utf8_lossy(&run.stderr);
    assert!(!messages.contains("CSV"), "{messages}");
    let program = "xray-all.stable/release/app";
    assert_eq!(functions(path, program), ["app::sum", "dependency::twice"]);
    let build = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-trace-xray"));
        command.args(["trace-xray", "build", "--stable", "--offline"]).args(arguments);
        let output = command.current_dir(path.join("app")).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let messages = build(&[]);
    assert!(messages.contains("--stable requires optimization"), "{messages}");
    fs::write(path.join("app/src/main.rs"), "fn main() { let number: u8 = \"\"; }").unwrap();
    let messages = build(&["--release"]);
    assert_eq!(messages.matches("mismatched types").count(), 1, "{messages}");
}

#[test]
fn errors_of_cargo_are_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-trace-xray"));
    command
        .args(["trace-xray", "build"])
        .current_dir(directory.path())
        .env_remove("CARGO_TARGET_DIR");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("could not find `Cargo.toml`"), "{message}");
}
