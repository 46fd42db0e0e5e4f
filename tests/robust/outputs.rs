//! Kinds of output files, and files that other users have planted beside them.

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{chown, lchown, symlink, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{flock, FlockOperation};
use tempfile::TempDir;

use crate::harness::{record, recover, subject, trace, wait_until, Archive, Run};
use crate::is_root;

/// A user other than the test's.
const OTHER: u32 = 65534;

/// A directory that all users can write, without the sticky bit.
struct Shared(TempDir);

impl Shared {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
        fs::write(directory.path().join("precious"), "precious").unwrap();
        Self(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn precious(&self) -> String {
        fs::read_to_string(self.path("precious")).unwrap()
    }
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Records two events into `output`, by `trace record` or by the program itself.
fn run(output: &Path, is_alone: bool) -> Run {
    let mut command = match is_alone {
        true => subject(&["end", "return"]),
        false => record(&[], output, &["end", "return"]),
    };
    if is_alone {
        command.env("TRACE_OUTPUT", output);
    }
    Run::of(&mut command)
}

fn events(path: &Path) -> usize {
    Archive::read(path).only().events.len()
}

/// What another user may have planted under a name.
const PLANTS: [&str; 6] = ["link", "dangling", "fifo", "directory", "file", "second name"];

fn plant(shared: &Shared, what: &str, path: &Path) {
    match what {
        "link" => symlink(shared.path("precious"), path).unwrap(),
        "dangling" => symlink(shared.path("nothing"), path).unwrap(),
        "fifo" => fifo(path),
        "directory" => fs::create_dir(path).unwrap(),
        "file" => fs::write(path, "").unwrap(),
        _ => fs::hard_link(shared.path("precious"), path).unwrap(),
    }
    if what == "second name" {
        return;
    }
    lchown(path, Some(OTHER), Some(OTHER)).unwrap();
}

#[test]
fn names_that_are_planted_beside_an_archive_are_not_used() {
    if !is_root() {
        return;
    }
    for (is_alone, name) in
        [(false, ".out.fxt.partial"), (true, "out.fxt.buffer"), (true, "out.fxt.partial")]
    {
        for what in PLANTS {
            let shared = Shared::new();
            plant(&shared, what, &shared.path(name));
            let before = fs::symlink_metadata(shared.path(name)).unwrap();
            let run = run(&shared.path("out.fxt"), is_alone);
            assert_eq!(run.code(), 0, "{name} {what}: {run:?}");
            let after = fs::symlink_metadata(shared.path(name)).unwrap();
            assert_eq!((before.ino(), before.mode()), (after.ino(), after.mode()), "{name} {what}");
            assert_eq!(shared.precious(), "precious", "{name} {what}");
            assert!(!shared.path("nothing").exists(), "{name} {what}");
            let archive = archive_in(&shared);
            assert_eq!(events(&archive), 2, "{name} {what}");
            assert_eq!(fs::metadata(&archive).unwrap().uid(), 0, "{name} {what}");
        }
    }
}

/// Returns the only archive: under its name, or under the alternative name.
fn archive_in(shared: &Shared) -> PathBuf {
    let paths = fs::read_dir(shared.0.path()).unwrap().map(|entry| entry.unwrap().path());
    let archives: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "fxt")).collect();
    let [archive] = archives.as_slice() else { panic!("one archive: {archives:?}") };
    archive.clone()
}

#[test]
fn files_locked_by_others_do_not_block_recording() {
    if !is_root() {
        return;
    }
    let shared = Shared::new();
    let name = |number| match number {
        1 => ".out.fxt.partial".to_owned(),
        _ => format!(".out.fxt.{number}.partial"),
    };
    let locked = (1..=100).map(|number| {
        let file = File::create(shared.path(&name(number))).unwrap();
        chown(shared.path(&name(number)), Some(OTHER), None).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        file
    });
    let _locked: Vec<File> = locked.collect();
    let run = run(&shared.path("out.fxt"), false);
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(events(&shared.path("out.fxt")), 2);
}

#[test]
fn other_users_cannot_open_a_programs_buffer() {
    let shared = Shared::new();
    let output = shared.path("out.fxt");
    let run = Run::of(
        Command::new("sh")
            .args(["-c", "umask 0; exec \"$0\" end abort"])
            .arg(crate::harness::subject_path())
            .env("TRACE_OUTPUT", &output),
    );
    assert!(run.0.status.code().is_none(), "{run:?}");
    for name in ["out.fxt.buffer", "out.fxt.partial"] {
        let mode = fs::metadata(shared.path(name)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
    }
    recover(&output);
    assert_eq!(events(&output), 2);
}

/// Creates a device like `/dev/null`, if allowed.
fn null_device(path: &Path) -> bool {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    let device = rustix::fs::makedev(1, 3);
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        name,
        rustix::fs::FileType::CharacterDevice,
        0o666.into(),
        device,
    );
    made.is_ok() && File::options().write(true).open(path).is_ok()
}

#[test]
fn devices_stay_and_links_are_followed() {
    for is_alone in [false, true] {
        let shared = Shared::new();
        let output = shared.path("out.fxt");
        symlink("real.fxt", &output).unwrap();
        assert_eq!(run(&output, is_alone).code(), 0);
        assert!(fs::symlink_metadata(&output).unwrap().is_symlink(), "alone: {is_alone}");
        assert_eq!(events(&shared.path("real.fxt")), 2, "alone: {is_alone}");

        let null = shared.path("null");
        if !null_device(&null) {
            eprintln!("skipped: no device can be made in {}", shared.0.path().display());
            continue;
        }
        symlink("null", shared.path("link")).unwrap();
        for name in ["null", "link"] {
            let run = run(&shared.path(name), is_alone);
            assert_eq!(run.code(), 0, "{name}: {run:?}");
            assert!(!is_alone || run.stderr().is_empty(), "{name}: {run:?}");
            let found = fs::symlink_metadata(&null).unwrap().file_type();
            assert!(found.is_char_device(), "{name}, alone: {is_alone}");
        }
    }
}

/// It is a file like any other. Whoever has it open keeps the old one, which has no name any more.
#[test]
fn standard_output_that_is_a_file_is_replaced() {
    let shared = Shared::new();
    let output = shared.path("out.fxt");
    let old = File::options().create_new(true).read(true).write(true).open(&output).unwrap();
    let mut program = subject(&["end", "return"]);
    program.env("TRACE_OUTPUT", "/dev/stdout").stdout(old.try_clone().unwrap());
    assert!(program.status().unwrap().success());
    assert_eq!(events(&output), 2);
    assert_eq!((old.metadata().unwrap().nlink(), old.metadata().unwrap().len()), (0, 0));
}

#[test]
fn archives_are_written_to_pipes() {
    let shared = Shared::new();
    for to_stdout in [false, true] {
        let path = if to_stdout { PathBuf::from("/dev/stdout") } else { shared.path("fifo") };
        if !to_stdout {
            fifo(&path);
        }
        // Opened for reading and writing, so that the program always has a reader.
        let held =
            (!to_stdout).then(|| File::options().read(true).write(true).open(&path).unwrap());
        let mut command = subject(&["burst", "100000"]);
        command.env("TRACE_OUTPUT", &path).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut bytes = Vec::new();
        if to_stdout {
            child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
        } else {
            let mut reader = File::open(&path).unwrap();
            let mut first = [0; 8];
            reader.read_exact(&mut first).unwrap();
            drop(held);
            bytes.extend(first);
            reader.read_to_end(&mut bytes).unwrap();
        }
        let run = Run::end_of(child);
        assert_eq!(run.code(), 0, "{run:?}");
        let archive = Archive::parse(&bytes);
        let provider = archive.only();
        let found = provider.events.len() as u64 + provider.lost();
        assert!(found >= 100_000, "{found}: {run:?}");
    }
    assert!(fs::symlink_metadata(shared.path("fifo")).unwrap().file_type().is_fifo());
}

#[test]
fn invalid_outputs_are_refused_with_the_reason() {
    let shared = Shared::new();
    fifo(&shared.path("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(shared.path("socket")).unwrap();
    for (name, reason) in [
        ("fifo", "no process reads from it"),
        ("socket", "is a socket"),
        (".", "is a directory"),
        ("missing/out.fxt", "does not exist"),
    ] {
        let run = run(&shared.path(name), true);
        assert_eq!(run.code(), 0, "the program runs: {run:?}");
        assert!(run.stderr().contains(reason), "{name}: {run:?}");
    }
}

#[test]
fn a_reader_that_does_not_read_holds_no_program_up() {
    let shared = Shared::new();
    fifo(&shared.path("fifo"));
    let _reader = File::options().read(true).write(true).open(shared.path("fifo")).unwrap();
    let mut burst = subject(&["burst", "200000"]);
    let run = Run::of(burst.env("TRACE_OUTPUT", shared.path("fifo")));
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("its reader does not read"), "{run:?}");
}

#[test]
fn an_archive_has_the_permissions_of_the_one_that_it_replaces() {
    for is_alone in [false, true] {
        let shared = Shared::new();
        let output = shared.path("out.fxt");
        for mode in [0o600, 0o640] {
            fs::write(&output, "old").unwrap();
            fs::set_permissions(&output, Permissions::from_mode(mode)).unwrap();
            assert_eq!(run(&output, is_alone).code(), 0);
            assert_eq!(fs::metadata(&output).unwrap().mode() & 0o777, mode, "alone: {is_alone}");
            assert_eq!(events(&output), 2);
        }
    }
}

#[test]
fn recover_skips_and_reports_damage() {
    for (what, code) in [("whole", 0), ("damaged", 3), ("cut", 3)] {
        let shared = Shared::new();
        let output = shared.path("out.fxt");
        let partial = shared.path("out.fxt.partial");
        let mut storm = subject(&["storm"]);
        storm.env("TRACE_OUTPUT", &output).env("TRACE_BUFFER_SIZE", "64K").stdin(Stdio::piped());
        let mut child = storm.stdout(Stdio::null()).spawn().unwrap();
        // The kill can interrupt the last save, of up to 64 KiB, which does not count then.
        wait_until("it has saved", || fs::metadata(&partial).is_ok_and(|it| it.len() > 400_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut bytes = fs::read(&partial).unwrap();
        let middle = record_after(&bytes, bytes.len() / 2);
        match what {
            // An initialization record without its second word: other bytes could be valid.
            "damaged" => bytes[middle..middle + 8].copy_from_slice(&0x11_u64.to_le_bytes()),
            "cut" => bytes.truncate(middle + 8),
            _ => {}
        }
        fs::write(&partial, &bytes).unwrap();
        let run = Run::of(trace(&["recover"]).arg(&output));
        assert_eq!(run.code(), code, "{what}: {run:?}");
        assert_eq!(run.stderr().contains("skipped"), code != 0, "{what}: {run:?}");
        let archive = fs::read(&output).unwrap();
        let mut reader = trace_format::Reader::new(&*archive);
        while reader.next().expect("the archive is well-formed").is_some() {}
        assert!(!partial.exists());
        // The damaged file is kept, and the archive reports the damage.
        let kept = fs::read(shared.path("out.fxt.partial.damaged")).ok();
        assert_eq!(kept, (code != 0).then_some(bytes), "{what}");
        let check = Run::of(trace(&["check"]).arg(&output));
        let reported = check.stdout().contains("bytes skipped in a damaged archive: ");
        assert_eq!(reported, code != 0, "{what}: {check:?}");
    }
}

/// Returns where the first record at or behind `offset` begins.
fn record_after(archive: &[u8], offset: usize) -> usize {
    let mut reader = trace_format::Reader::new(archive);
    while reader.offset() < offset as u64 {
        assert!(reader.next().expect("the archive is well-formed").is_some());
    }
    reader.offset() as usize
}

#[test]
fn recover_refuses_files_of_other_users() {
    if !is_root() {
        return;
    }
    let shared = Shared::new();
    let output = shared.path("out.fxt");
    Run::of(subject(&["end", "abort"]).env("TRACE_OUTPUT", &output));
    chown(shared.path("out.fxt.buffer"), Some(OTHER), None).unwrap();
    let run = Run::of(trace(&["recover"]).arg(&output));
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("belongs to another user (uid 65534)"), "{run:?}");
    assert!(!output.exists() && shared.path("out.fxt.buffer").exists());
}

#[test]
fn too_few_descriptors_leave_no_archive_behind() {
    let shared = Shared::new();
    let output = shared.path("out.fxt");
    let trace = trace(&["record", "-o"]).get_program().to_owned();
    for limit in 4..16 {
        let script = format!("ulimit -n {limit}; exec \"$0\" record -o \"$1\" -- true");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(&trace).arg(&output);
        let run = Run::of(&mut command);
        let left = fs::read_dir(shared.0.path()).unwrap().count();
        let expected = if run.0.status.code() == Some(0) { 2 } else { 1 };
        assert_eq!(left, expected, "limit {limit}: {run:?}");
        let _ = fs::remove_file(&output);
    }
}

/// A traced program is recorded, or `record` fails before it starts.
#[test]
fn too_few_descriptors_for_a_program_are_reported_before_it_runs() {
    let shared = Shared::new();
    let output = shared.path("out.fxt");
    let trace = trace(&[]).get_program().to_owned();
    let mut codes = Vec::new();
    for limit in 8..24 {
        let script = format!("ulimit -n {limit}; exec \"$0\" record -o \"$1\" -- \"$2\" burst 10");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(&trace).arg(&output).arg(crate::harness::subject_path());
        let run = Run::of(&mut command);
        codes.push(run.code());
        if run.code() == 0 {
            assert_eq!(events(&output), 10, "limit {limit}: {run:?}");
            fs::remove_file(&output).unwrap();
        } else {
            assert_eq!(run.code(), 125, "limit {limit}: {run:?}");
            assert!(!run.stderr().contains("build the program"), "limit {limit}: {run:?}");
            assert_eq!(fs::read_dir(shared.0.path()).unwrap().count(), 1, "limit {limit}: {run:?}");
        }
    }
    assert!(codes.is_sorted_by(|one, other| one >= other), "{codes:?}");
    assert_eq!((codes.first(), codes.last()), (Some(&125), Some(&0)), "{codes:?}");
}

#[test]
fn a_full_disk_is_not_a_killed_manager() {
    let run = Run::of(&mut record(&[], "/dev/full".as_ref(), &["burst", "10000"]));
    assert!(!run.stderr().contains("was killed"), "{run:?}");
    let shared = Shared::new();
    let trace = trace(&[]).get_program().to_owned();
    let mut limited = Command::new("sh");
    limited
        .args([
            "-c",
            "ulimit -f 1000; exec \"$0\" record -b 256K -o \"$1\" -- \"$2\" burst 1000000",
        ])
        .arg(&trace)
        .arg(shared.path("out.fxt"))
        .arg(crate::harness::subject_path());
    let run = Run::of(&mut limited);
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains("file too large"), "{run:?}");
    assert!(!run.stderr().contains("was killed"), "{run:?}");
    assert!(!shared.path("out.fxt").exists());
}
