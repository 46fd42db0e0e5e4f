//! The log of the daemon.

use super::*;

/// Returns the log of a daemon in the background after these commands, and its end.
fn log_of(commands: &[&[&str]], programs: bool) -> String {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("manager.sock");
    let at_socket = |arguments: &[&str]| {
        let mut command = trace(arguments);
        Run::of(command.arg("--socket").arg(&socket).current_dir(directory.path()))
    };
    assert_eq!(at_socket(&["daemon", "--background", "--dir", "."]).code(), 0);
    let program =
        programs.then(|| Program::start(subject(&["chatter"]).env("TRACE_SOCKET", &socket)));
    if programs {
        wait_until("the program registers", || {
            at_socket(&["list", "providers", "--json"]).stdout().contains("subject")
        });
    }
    for command in commands {
        let run = at_socket(command);
        assert_eq!(run.code(), 0, "{run:?}");
    }
    drop(program);
    assert_eq!(at_socket(&["daemon", "--stop"]).code(), 0);
    std::fs::read_to_string(directory.path().join("trace-daemon.log")).unwrap()
}

#[test]
fn sessions_have_their_names_in_the_log() {
    let log = log_of(
        &[
            &["start", "--name", "web", "-o", "web.fxt"],
            &["stop", "web"],
            &["start", "--name", "gone", "-o", "gone.fxt"],
            &["abort", "gone"],
        ],
        false,
    );
    assert!(log.contains("trace: session web writes /"), "{log}");
    assert!(log.contains("trace: session web has ended: "), "{log}");
    assert!(log.contains("/web.fxt\n") && !log.contains("session 1"), "{log}");
    assert!(log.contains("trace: session gone was aborted\n"), "{log}");
}

#[test]
fn the_log_names_the_parts_of_an_archive() {
    let start = ["start", "--name", "cut", "--rotate", "64K", "-b", "64K", "-o", "cut.fxt"];
    let log = log_of(&[&start, &["status"], &["stop", "cut"]], true);
    let end = log.lines().find(|line| line.contains("session cut has ended: ")).unwrap();
    assert!(end.contains("/cut.1.fxt"), "{log}");
}
