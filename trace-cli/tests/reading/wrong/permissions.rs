//! Files and directories without permission.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command as Process;

use super::{assert_failed, place, COMMANDS, FROM_JSON, RECOVER, WRONG};
use crate::harness::{everything, Place, Run};

/// Runs `trace` without root's right to access all files.
fn run(place: &Place, arguments: &[&str]) -> Run {
    let mut command = place.command(arguments);
    if rustix::process::geteuid().is_root() {
        command = Process::new("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_trace")]);
        command.args(arguments).current_dir(place.path("."));
    }
    Run::of(command.output().unwrap())
}

#[test]
fn unreadable_files() {
    let place = place();
    place.put(WRONG, &everything());
    fs::set_permissions(place.path(WRONG), Permissions::from_mode(0o000)).unwrap();
    let files = place.names();
    for command in COMMANDS.iter().chain(&FROM_JSON).chain([&RECOVER]) {
        let run = run(&place, &command.with(WRONG, command.output));
        assert_failed(&place, &files, &run, WRONG, command.line);
        // `recover` opens another file beside it.
        let is_reported = run.stderr.contains("permission denied");
        assert!(is_reported || command.line == RECOVER.line, "{}: {run:?}", command.line);
    }
}

#[test]
fn directories_that_cannot_be_written() {
    let place = place();
    fs::create_dir(place.path("closed")).unwrap();
    fs::set_permissions(place.path("closed"), Permissions::from_mode(0o555)).unwrap();
    let files = place.names();
    for command in COMMANDS.iter().filter(|command| !command.output.is_empty()) {
        let output = format!("closed/{}", command.output);
        let run = run(&place, &command.with(super::GOOD, &output));
        assert_failed(&place, &files, &run, &output, command.line);
        assert!(run.stderr.contains("permission denied"), "{}: {run:?}", command.line);
        assert_eq!(fs::read_dir(place.path("closed")).unwrap().count(), 0);
    }
}
