//! Programs that trace themselves into file systems that become full.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::harness::{subject, trace, wait_until, Archive, Run};

/// A file system in a file.
struct Disk {
    directory: TempDir,
    /// Whether an overlay is mounted on the file system.
    is_overlaid: bool,
}

impl Disk {
    /// Mounts a new file system. Returns `None` if the system does not permit it.
    fn mount(kind: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        File::create(&image).unwrap().set_len(400 << 20).unwrap();
        let mounted = directory.path().join("mounted");
        fs::create_dir(&mounted).unwrap();
        let make = format!("mkfs.{kind}");
        let is_mounted = run(Command::new(make).arg("-q").arg(&image))
            && run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(mounted));
        if !is_mounted {
            eprintln!("skipped: {kind} cannot be created and mounted here");
            return None;
        }
        Some(Self { directory, is_overlaid: false })
    }

    /// Mounts an overlay whose files are on this file system.
    fn overlay(mut self) -> Option<Self> {
        let path = |name: &str| self.path().join(name);
        for name in ["lower", "upper", "work"] {
            fs::create_dir(path(name)).unwrap();
        }
        let [lower, upper, work] = ["lower", "upper", "work"].map(path);
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            lower.display(),
            upper.display(),
            work.display()
        );
        let mut mount = Command::new("mount");
        mount.args(["-t", "overlay", "overlay", "-o", &options]).arg(&lower);
        self.is_overlaid = run(&mut mount);
        self.is_overlaid.then_some(self)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }

    /// The directory for outputs.
    fn output(&self) -> PathBuf {
        self.path().join(if self.is_overlaid { "lower/out.fxt" } else { "out.fxt" })
    }

    /// Allocates all space, and writes all data to the disk.
    fn fill(&self) {
        let mut file = File::create(self.path().join("large")).unwrap();
        for size in [1 << 20, 4096] {
            let zeros = vec![0; size];
            while file.write_all(&zeros).is_ok() {}
        }
        assert!(run(Command::new("sync").arg("-f").arg(self.path())));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.is_overlaid {
            run(Command::new("umount").arg(self.path().join("lower")));
        }
        run(Command::new("umount").arg(self.path()));
    }
}

fn run(command: &mut Command) -> bool {
    command.output().is_ok_and(|run| run.status.success())
}

/// Starts a program that traces itself until its standard input ends.
fn start(output: &Path, mode: &str, size: &str) -> Child {
    let mut program = subject(&["chatter"]);
    program.env("TRACE_OUTPUT", output).env("TRACE_BUFFERING_MODE", mode);
    program.env("TRACE_BUFFER_SIZE", size).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = program.stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    program.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    program
}

/// A page of a mapped file that was written to the disk may need new space when it is changed. If
/// there is none, the process gets SIGBUS.
#[test]
fn a_disk_that_becomes_full_does_not_end_the_program() {
    let disks: [&dyn Fn() -> Option<Disk>; 4] = [
        &|| Disk::mount("btrfs"),
        &|| Disk::mount("btrfs").and_then(Disk::overlay),
        &|| Disk::mount("ext4"),
        &|| Disk::mount("xfs"),
    ];
    for disk in disks.iter().filter_map(|mount| mount()) {
        for mode in crate::harness::MODES {
            let program = start(&disk.output(), mode, "1M");
            disk.fill();
            let run = Run::end_of(program);
            assert_eq!(run.code(), 0, "{mode}: {run:?}");
            fs::remove_file(disk.path().join("large")).unwrap();
        }
    }
}

/// An overlay does not report the kind of the file system below it, which may copy on write.
#[test]
fn the_buffer_is_in_memory_on_an_overlay() {
    let Some(disk) = Disk::mount("ext4").and_then(Disk::overlay) else { return };
    let run = Run::end_of(start(&disk.output(), "streaming", "64K"));
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("the buffer is in memory"), "{run:?}");
}

/// The buffer cannot be a file there.
#[test]
fn saved_records_survive_a_kill_where_space_cannot_be_reserved() {
    let Some(disk) = Disk::mount("btrfs") else { return };
    let output = disk.output();
    let mut program = start(&output, "streaming", "64K");
    let partial = output.with_file_name("out.fxt.partial");
    wait_until("records are saved", || {
        fs::metadata(&partial).is_ok_and(|found| found.len() > 100_000)
    });
    program.kill().unwrap();
    let run = Run::end_of(program);
    assert!(run.stderr().contains("the buffer is in memory"), "{run:?}");
    let run = Run::of(trace(&["recover"]).arg(&output));
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stderr().contains("the records of the buffer are lost"), "{run:?}");
    let run = Run::of(trace(&["check"]).arg(&output));
    assert!(run.stdout().contains("well-formed") && !run.stdout().contains("complete"), "{run:?}");
    let numbers = Archive::read(&output).only().numbers("word");
    assert!(numbers.len() > 1000 && numbers.is_sorted(), "{}", numbers.len());
}
