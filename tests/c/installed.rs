//! The installed libraries, found by pkg-config and CMake.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::building::products;
use crate::harness::Run;
use crate::workshop::Workshop;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Installs the libraries into a workshop, and returns the prefix.
fn install(workshop: &Workshop) -> PathBuf {
    let prefix = workshop.path("prefix");
    let mut make = Command::new("make");
    make.args(["-s", "-C"]).arg(Path::new(ROOT).join("trace-c")).arg("install");
    make.arg(format!("PREFIX={}", prefix.display()));
    make.arg(format!("LIBRARIES={}", products().display()));
    let run = Run::of(&mut make);
    assert_eq!((run.code(), run.stderr()), (0, String::new()));
    prefix
}

/// Returns whether a tool is installed.
fn has(tool: &str) -> bool {
    let run = Command::new(tool).arg("--version").stdout(Stdio::null()).status();
    if run.is_err() {
        eprintln!("skipped: {tool} is not installed");
    }
    run.is_ok_and(|status| status.success())
}

/// Runs a program that traces, and reads its archive.
fn check(workshop: &Workshop, program: &Path) {
    let run = Run::of(&mut workshop.traced(program, &[]));
    assert!(run.code() == 0 && run.stdout().starts_with("traced number=3\n"), "{run:?}");
}

#[test]
fn pkg_config_finds_both_libraries() {
    if !has("pkg-config") {
        return;
    }
    let workshop = Workshop::new(&[]);
    let prefix = install(&workshop);
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let run = Run::of(pkg_config.args(["--cflags", "--libs", "trace-c", "trace-reader-c"]));
    assert_eq!(run.code(), 0, "{run:?}");
    let program = workshop.path("both");
    let source = Path::new(ROOT).join("tests/c/programs/both.c");
    let mut cc = Command::new("cc");
    let run = Run::of(cc.arg(source).args(run.stdout().split_whitespace()).arg("-o").arg(&program));
    assert_eq!(run.code(), 0, "{run:?}");
    check(&workshop, &program);
}

#[test]
fn cmake_finds_both_libraries() {
    if !has("cmake") {
        return;
    }
    let workshop = Workshop::new(&[]);
    let prefix = install(&workshop);
    let source = Path::new(ROOT).join("tests/c/programs/both.c");
    fs::create_dir(workshop.path("project")).unwrap();
    let project = format!(
        "cmake_minimum_required(VERSION 3.13)\nproject(both C)\n\
         find_package(trace-c 0.1 REQUIRED)\nfind_package(trace-reader-c 0.1 REQUIRED)\n\
         add_executable(both {})\n\
         target_link_libraries(both trace-c::trace-c trace-reader-c::trace-reader-c)\n",
        source.display()
    );
    fs::write(workshop.path("project/CMakeLists.txt"), project).unwrap();
    let build = workshop.path("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(workshop.path("project")).arg("-B").arg(&build);
    let run = Run::of(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    assert_eq!(run.code(), 0, "{run:?}");
    let run = Run::of(Command::new("cmake").arg("--build").arg(&build));
    assert_eq!(run.code(), 0, "{run:?}");
    check(&workshop, &build.join("both"));
}
