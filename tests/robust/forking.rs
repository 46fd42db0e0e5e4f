//! Forks without exec: parent and child do not share a buffer.

use std::process::Stdio;

use crate::harness::{subject, wait_until, Archive, Run, Session};

/// Checks that the parent has its own events, once each, and none of a child.
#[track_caller]
fn check_parent(archive: &Archive, pid: u64) {
    let parent = archive.of_process(pid).expect("the parent is a provider");
    assert_eq!(parent.numbers("parent"), Vec::from_iter(0..=20));
    assert_eq!(parent.count("child") + parent.count("child that is no provider"), 0);
    assert!(parent.events.iter().all(|event| event.process == pid));
    assert_eq!(parent.lost(), 0);
}

fn run(how: &str) -> (Archive, u64) {
    let session = Session::start("streaming", 1 << 20);
    let child = session.subject(&["fork", how]).spawn().unwrap();
    let pid = u64::from(child.id());
    assert_eq!(Run::end_of(child).code(), 0);
    let (archive, _) = session.end();
    check_parent(&archive, pid);
    (archive, pid)
}

/// Checks that each child that is a provider recorded one event.
fn check_children(archive: &Archive, parent: u64) {
    let children = archive.providers.iter().filter(|provider| provider.pid != parent);
    let mut numbers = Vec::new();
    for child in children {
        assert!(child.events.iter().all(|event| event.process == child.pid));
        numbers.extend(child.numbers("child"));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, Vec::from_iter(1..=20));
}

#[test]
fn a_forked_child_records_nothing_for_its_parent() {
    for how in ["libc", "raw"] {
        let (archive, _) = run(how);
        archive.only();
    }
}

#[test]
fn a_forked_child_becomes_a_provider_of_its_own() {
    for how in ["libc init", "raw init"] {
        let (archive, parent) = run(how);
        check_children(&archive, parent);
    }
}

/// A child keeps its parent's observers, but is not part of its parent's recording.
#[test]
fn observers_are_called_in_forked_children_too() {
    for how in ["libc", "raw"] {
        let session = Session::start("streaming", 1 << 20);
        let parent = session.subject(&["observe-and-fork", how]).spawn().unwrap();
        assert_eq!(Run::end_of(parent).code(), 0);
        let (archive, _) = session.end();
        let mut states: Vec<Vec<u64>> =
            archive.providers.iter().map(|provider| provider.numbers("observed")).collect();
        states.sort_unstable();
        // Started and stopping, in parent and child. The child's second session has no observer.
        assert_eq!(states, [vec![], vec![1, 2], vec![1, 2]], "{how}");
    }
}

#[test]
fn a_forked_child_leaves_the_file_of_a_parent_that_traces_itself_alone() {
    for how in ["libc", "raw", "libc init", "raw init"] {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out.fxt");
        let child = subject(&["fork", how]).env("TRACE_OUTPUT", &output).spawn().unwrap();
        let pid = u64::from(child.id());
        assert_eq!(Run::end_of(child).code(), 0, "{how}");
        let archive = Archive::read(&output);
        archive.only();
        check_parent(&archive, pid);
        let names = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let children: Vec<Archive> =
            names.filter(|path| *path != output).map(|path| Archive::read(&path)).collect();
        assert_eq!(children.len(), if how.contains("init") { 20 } else { 0 }, "{how}");
        assert!(children.iter().all(|child| child.only().count("child") == 1));
    }
}

#[test]
fn a_killed_parent_is_recorded_while_its_forked_child_continues() {
    for how in ["libc", "raw"] {
        let session = Session::start("streaming", 1 << 20);
        let mut parent = session.subject(&["orphan", how]);
        let mut parent = parent.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, pid) = (parent.stdin.take(), u64::from(parent.id()));
        parent.wait().unwrap();
        wait_until("the parent is out of the session", || {
            let progress = session.handle.progress();
            progress.joined == 1 && progress.providers == 0
        });
        // The child is still running, because its standard input is open.
        drop(stdin);
        let run = Run::end_of(parent);
        assert_eq!(run.stdout(), "child continued\n");
        let (archive, _) = session.end();
        assert_eq!(archive.of_process(pid).unwrap().numbers("parent"), [1, 2]);
    }
}
