//! Programs and recorders in process id namespaces of their own, as in containers.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{kill_process_group, Pid, Signal};

use crate::harness::{subject, subject_path, trace, wait_until, Archive, Provider, Run};

/// Whether this process may create namespaces.
fn can_unshare() -> bool {
    let unshared = Command::new("unshare").args(["--pid", "--fork", "true"]).output();
    let can = unshared.is_ok_and(|output| output.status.success());
    if !can {
        crate::lacks("root and unshare");
    }
    can
}

/// Returns the providers of an archive, of two programs with two events each.
fn two_programs(archive: &Path) -> [Provider; 2] {
    let providers = Archive::read(archive).providers;
    let [first, second] = <[Provider; 2]>::try_from(providers).unwrap();
    for provider in [&first, &second] {
        let names: Vec<&str> = provider.events.iter().map(|event| &*event.name).collect();
        assert_eq!(names, ["first", "last"]);
        assert!(provider.events.iter().all(|event| event.process == provider.pid));
    }
    [first, second]
}

/// Both programs have the process id 1 in their own namespace. Ids of threads are those of the
/// program's namespace.
#[test]
fn programs_have_the_process_ids_that_the_recorder_sees() {
    if !can_unshare() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let script = r#"for _ in 1 2; do unshare --pid --fork "$SUBJECT" end return; done"#;
    let mut record = trace(&["record", "-o"]);
    record.arg(&output).args(["--", "sh", "-c", script]).env("SUBJECT", subject_path());
    let run = Run::of(&mut record);
    assert_eq!(run.code(), 0, "{run:?}");
    let [first, second] = two_programs(&output);
    assert!(first.pid > 1 && second.pid > 1 && first.pid != second.pid);
    assert!(first.events.iter().chain(&second.events).all(|event| event.thread == 1));
}

/// They have the process id 0, and are providers of their own.
#[test]
fn programs_that_the_recorder_does_not_see_are_recorded() {
    if !can_unshare() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [output, socket] = ["out.fxt", "manager.sock"].map(|name| directory.path().join(name));
    let mut record = Command::new("unshare");
    record.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    record.arg(trace(&[]).get_program()).args(["record", "--socket"]).arg(&socket);
    record.arg("-o").arg(&output).env("TRACE_CONFIG", "").process_group(0);
    let mut record = record.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the recorder listens", || socket.exists());
    for _ in 0..2 {
        let run = Run::of(subject(&["end", "recorded"]).env("TRACE_SOCKET", &socket));
        assert_eq!(run.code(), 0, "{run:?}");
    }
    // The command `unshare` ignores it.
    kill_process_group(Pid::from_child(&record), Signal::Int).unwrap();
    assert!(record.wait().unwrap().success());
    let programs = two_programs(&output);
    assert_eq!(programs.map(|provider| provider.pid), [0, 0]);
}
