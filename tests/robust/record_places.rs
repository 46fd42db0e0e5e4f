//! Valid and invalid outputs, sockets and buffer sizes of `trace record`, and their error messages.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{programs::subject_path, record, trace, Archive, Run};

#[test]
fn any_buffer_size_works_or_is_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    for size in ["1", "4095", "65537", "1000003", "256M"] {
        for mode in crate::harness::MODES {
            let run =
                Run::of(&mut record(&["-b", size, "-m", mode], &output, &["end", "recorded"]));
            assert_eq!(run.code(), 0, "{size} {mode}: {run:?}");
            assert_eq!(Archive::read(&output).only().events.len(), 2, "{size} {mode}");
            fs::remove_file(&output).unwrap();
        }
    }
    for size in ["0", "8000000G"] {
        let run = Run::of(&mut record(&["-b", size], &output, &["end", "return"]));
        assert!([2, 125].contains(&run.code()), "{size}: {run:?}");
        assert!(run.stderr().contains("buffer") || run.stderr().contains("size"), "{run:?}");
        assert!(!output.exists(), "{size}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_reported_before_the_command_runs() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing/out.fxt");
    for output in [missing.as_path(), directory.path()] {
        let run = Run::of(&mut record(&[], output, &["chatter"]));
        assert_eq!(run.code(), 125, "{run:?}");
        assert!(run.stderr().contains(output.to_str().unwrap()), "{run:?}");
    }
}

/// A file system of 128 KiB, if mounting is allowed.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=128k", "none"]).arg(directory.path());
        mount.output().is_ok_and(|run| run.status.success()).then_some(Self(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0.path()).status().ok();
    }
}

#[test]
fn a_full_disk_ends_the_archive_and_not_the_command() {
    let run = Run::of(&mut record(&[], "/dev/full".as_ref(), &["burst", "10000"]));
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains("no space left"), "{run:?}");
    let Some(disk) = SmallDisk::mount() else { return };
    let output = disk.0.path().join("out.fxt");
    let run = Run::of(&mut record(&["-b", "256K"], &output, &["burst", "50000"]));
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains("no space left"), "{run:?}");
    assert!(!run.stderr().contains("was killed"), "the manager was not: {run:?}");
    assert!(!output.exists(), "only a complete archive has the name");
    // The message names the partial archive beside it, which has whole records.
    let kept = disk.0.path().join(".out.fxt.partial");
    assert!(run.stderr().contains(kept.to_str().unwrap()), "{run:?}");
    Archive::read(&kept);
}

#[test]
fn a_full_disk_does_not_harm_a_program_that_traces_itself() {
    let Some(disk) = SmallDisk::mount() else { return };
    // The first size is too large for the buffer, the second one for the archive beside it.
    for size in ["16M", "112K"] {
        let output = disk.0.path().join("out.fxt");
        let mut burst = crate::harness::subject(&["burst", "50000"]);
        burst
            .env("TRACE_OUTPUT", &output)
            .env("TRACE_BUFFER_SIZE", size)
            .env("TRACE_BUFFERING_MODE", "oneshot");
        let run = Run::of(&mut burst);
        assert_eq!(run.code(), 0, "{size}: {run:?}");
        assert!(run.stderr().contains("No space left"), "{size}: {run:?}");
        assert!(!output.exists(), "{size}: only a complete archive has the name");
    }
}

/// `trace record --socket PATH`.
fn record_at(socket: &Path, output: &Path) -> Run {
    let mut command = trace(&["record", "--socket"]);
    command.arg(socket).arg("-o").arg(output).arg("--").arg(subject_path()).args(["end", "return"]);
    Run::of(&mut command)
}

/// A path of more than 108 bytes, the limit of a socket's address.
fn long(directory: &Path) -> PathBuf {
    let directory = directory.join("d".repeat(100)).join("e".repeat(100));
    fs::create_dir_all(&directory).unwrap();
    directory.join("f".repeat(100))
}

#[test]
fn a_socket_may_have_a_long_path_and_a_new_directory() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    for socket in [long(directory.path()), directory.path().join("new/socket")] {
        let run = record_at(&socket, &output);
        assert_eq!(run.code(), 0, "{run:?}");
        assert_eq!(Archive::read(&output).only().events.len(), 2);
        assert!(!socket.exists(), "the recorder removes it");
    }
}

#[test]
fn a_socket_that_cannot_be_created_is_reported_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    fs::write(directory.path().join("file"), "in the way").unwrap();
    let too_long = directory.path().join("g".repeat(300));
    for socket in ["missing/missing/socket", "file", "file/socket"]
        .map(|name| directory.path().join(name))
        .iter()
        .chain([&too_long])
    {
        let run = record_at(socket, &output);
        assert_eq!(run.code(), 125, "{run:?}");
        assert!(run.stderr().contains(socket.to_str().unwrap()), "{run:?}");
        assert!(!output.exists());
    }
    assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), "in the way");
}

#[test]
fn a_socket_directory_of_another_user_is_reported_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // Root can write anywhere, so the test runs as nobody.
    let socket = closed.join("socket");
    let run = as_nobody(
        &["record", "--socket", socket.to_str().unwrap(), "-o"],
        &directory.path().join("out.fxt"),
    );
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains(socket.to_str().unwrap()), "{run:?}");
    assert!(
        run.stderr().contains("TRACE_SOCKET") || run.stderr().contains("--socket"),
        "it has a hint: {run:?}"
    );
}

/// Runs `trace` as a user other than root.
fn as_nobody(arguments: &[&str], output: &Path) -> Run {
    use std::os::unix::process::CommandExt;
    let mut command = trace(arguments);
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    Run::of(command.arg(output).args(["--", "true"]))
}
