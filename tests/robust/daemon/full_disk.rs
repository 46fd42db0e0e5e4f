//! Archives of the daemon on disks that become full.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::harness::Archive;

/// A small file system in a directory of a daemon, mounted until it is dropped. Buffers are so
/// large that programs on a busy machine lose no records.
struct Disk(PathBuf);

impl Disk {
    /// Returns `None` if the system does not permit it.
    fn mount(directory: PathBuf) -> Option<Self> {
        fs::create_dir(&directory).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "none"]).arg(&directory);
        let is_mounted = mount.output().is_ok_and(|run| run.status.success());
        if !is_mounted {
            eprintln!("skipped: no file system can be mounted here");
        }
        is_mounted.then_some(Self(directory))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Takes all of its space.
    fn fill(&self) {
        let mut file = File::create(self.path("large")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Gives the space back.
    fn free(&self) {
        fs::remove_file(self.path("large")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg("--lazy").arg(&self.0).status().ok();
    }
}

/// Starts a daemon with a small file system in its folder `disk`, and a program that it has.
fn scene() -> Option<(Daemon, Disk, Program)> {
    let daemon = Daemon::start();
    let disk = Disk::mount(daemon.path("disk"))?;
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    Some((daemon, disk, program))
}

/// Waits until the status of session `a` has a text as its error, or none.
#[track_caller]
fn wait_for_error(daemon: &Daemon, text: Option<&str>) {
    wait_until("the error is shown, or has gone", || {
        std::thread::sleep(BETWEEN_REQUESTS);
        daemon.controller().flush("a").unwrap();
        let status = daemon.json(&["status"]);
        let error = status[0]["error"].as_str();
        error.is_some() == text.is_some() && error.unwrap_or("").contains(text.unwrap_or(""))
    });
}

/// Records wait in memory.
#[test]
fn a_disk_that_is_full_for_a_while_costs_no_records() {
    let Some((daemon, disk, program)) = scene() else { return };
    let options = ["--rotate", "100ms", "-b", "16M", "-c", "chatter"];
    daemon.json(&[&["start", "--name", "a", "-o", "disk/a.fxt"], &options[..]].concat());
    wait_until("a part is complete", || disk.path("a.1.fxt").exists());

    disk.fill();
    wait_for_error(&daemon, Some("the disk is full"));
    let text = daemon.run(&["status"]).stdout();
    assert!(text.contains("(error: the disk is full, records wait in memory)"), "{text}");
    let snapshot = daemon.run(&["snapshot", "a", "-o", "now.fxt"]);
    assert_ne!(snapshot.code(), 0, "{snapshot:?}");
    assert!(snapshot.stderr().contains("waits for space"), "{snapshot:?}");
    assert!(!daemon.path("now.fxt").exists());
    disk.free();
    wait_for_error(&daemon, None);

    let summary = daemon.json(&["stop", "a"]);
    assert_eq!((&summary["lost"], &summary["written"]), (&0.into(), &true.into()), "{summary}");
    let parts = summary["parts"].as_array().unwrap();
    let parts = parts.iter().map(|part| Archive::read(Path::new(part.as_str().unwrap())));
    let numbers: Vec<u64> =
        parts.flat_map(|part| part.of_process(program.pid()).unwrap().numbers("word")).collect();
    assert!(numbers.len() > 100 && are_consecutive(&numbers), "{} words", numbers.len());
}

/// The session ends, and its archive has what was written.
#[test]
fn a_session_ends_also_while_its_disk_is_full() {
    let Some((daemon, disk, program)) = scene() else { return };
    let options = ["-b", "16M", "-c", "chatter", "--mode", "streaming"];
    daemon.json(&[&["start", "--name", "a", "-o", "disk/a.fxt"], &options[..]].concat());
    daemon.wait_for_events("a", 1);
    disk.fill();
    wait_for_error(&daemon, Some("the disk is full"));
    let stopped = daemon.run(&["stop", "a", "--json"]);
    assert_eq!(stopped.code(), 1, "{stopped:?}");
    assert!(stopped.stderr().contains("no space left"), "{stopped:?}");
    let summary: Value = serde_json::from_str(&stopped.stdout()).unwrap();
    let not_archived = summary["not_archived"].as_u64().unwrap();
    assert!(not_archived > 0 && summary["lost"] == not_archived, "{summary}");
    assert!(!disk.path("a.fxt").exists());
    let kept = Archive::read(&disk.path(".a.fxt.partial"));
    assert!(are_consecutive(&kept.of_process(program.pid()).unwrap().numbers("word")));
}

/// The parts before the last one are complete.
#[test]
fn a_stop_names_the_complete_parts_of_an_archive_that_has_failed() {
    let Some((daemon, disk, program)) = scene() else { return };
    let options = ["--rotate", "100ms", "-b", "16M", "-c", "chatter"];
    daemon.json(&[&["start", "--name", "a", "-o", "disk/a.fxt"], &options[..]].concat());
    wait_until("a part is complete", || disk.path("a.2.fxt").exists());
    disk.fill();
    wait_for_error(&daemon, Some("the disk is full"));
    let stopped = daemon.run(&["stop", "a"]);
    let text = stopped.stderr();
    assert_eq!(stopped.code(), 1, "{text}");
    assert!(text.contains(" complete parts: ") && text.contains("/a.1.fxt to "), "{text}");
    assert!(text.contains("a part of the archive ends after"), "{text}");
    assert!(text.contains(" not in the archive") && !text.contains("0 lost"), "{text}");
    let first = Archive::read(&disk.path("a.1.fxt"));
    assert!(first.of_process(program.pid()).unwrap().count("word") > 0);
}

/// Others are complete.
#[test]
fn the_end_of_the_daemon_names_the_sessions_whose_archives_have_failed() {
    let Some((mut daemon, disk, _program)) = scene() else { return };
    let start = |name, path| {
        daemon.json(&["start", "--name", name, "-m", "circular", "-c", "chatter", "-o", path]);
    };
    start("a", "disk/a.fxt");
    start("b", "b.fxt");
    wait_until("more is recorded than the file has space for", || {
        std::thread::sleep(BETWEEN_REQUESTS);
        let sessions = daemon.controller().sessions().unwrap();
        sessions.iter().all(|session| session.events > 2000)
    });
    disk.fill();
    let run = daemon.run(&["daemon", "--stop"]);
    let text = run.stderr();
    assert_eq!(run.code(), 1, "{text}");
    assert!(text.contains("session a: the archive ends after "), "{text}");
    assert!(text.contains(": no space left on device") && !text.contains("session b"), "{text}");
    assert!(text.contains(" has ended\n"), "{text}");
    assert_eq!(daemon.wait(), Some(0));
    assert!(Archive::read(&daemon.path("b.fxt")).only().count("word") > 0);
}
