//! The kernel's events while they are recorded.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;
use trace_format::{Reader, Record};

use super::can_trace;
use super::harness::{subject_path, trace, wait_until, Archive, Provider, Run};
use super::helper::{has_ended, instances};

/// Starts `trace follow` of an archive or a session. It writes an archive.
fn follow(directory: &Path, arguments: &[&str], output: &Path) -> Child {
    let mut command = command(directory, &["follow", "--format", "fxt"]);
    command.args(arguments).stdout(File::create(output).unwrap()).spawn().unwrap()
}

/// Returns a command that finds the recorders and the daemon of this directory only.
fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = trace(arguments);
    command.env("XDG_RUNTIME_DIR", directory).env_remove("TRACE_SOCKET").current_dir(directory);
    command
}

/// Returns the times of the context switches in an archive that may have no end yet.
fn switches(archive: &Path) -> Vec<u64> {
    let bytes = fs::read(archive).unwrap();
    let (mut reader, mut times) = (Reader::new(&bytes[..]), Vec::new());
    while let Ok(Some(item)) = reader.next() {
        if let Record::ContextSwitch(switch) = &item.record {
            times.push(switch.ticks);
        }
    }
    times
}

/// The buffers of the default size are never full.
#[test]
fn records_arrive_while_an_archive_is_recorded() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let mut record = command(directory.path(), &["record", "--sched", "-o", "t.fxt", "--"]);
    record.arg(subject_path()).arg("chatter");
    let streams = record.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut recorder = streams.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(recorder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let mut by_file = follow(directory.path(), &["./t.fxt"], &path("file.fxt"));
    let mut by_name = follow(directory.path(), &["t"], &path("name.fxt"));
    for followed in ["file.fxt", "name.fxt"] {
        wait_until("switches arrive", || switches(&path(followed)).len() > 20);
    }
    assert!(recorder.try_wait().unwrap().is_none(), "the recording has not ended");
    drop(recorder.stdin.take());
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!([&mut by_file, &mut by_name].map(|it| it.wait().unwrap().code()), [Some(0); 2]);
    let recorded = switches(&path("t.fxt"));
    assert!(recorded.is_sorted(), "in the order of time");
    assert_eq!(switches(&path("file.fxt")), recorded, "each record once");
    assert!(recorded.ends_with(&switches(&path("name.fxt"))), "from its start on");
}

/// Lets one test at a time make many system calls: some record those of the whole machine.
fn many_calls() -> MutexGuard<'static, ()> {
    static MANY_CALLS: Mutex<()> = Mutex::new(());
    MANY_CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The recorder saves nothing while a program has more events than the helper's buffer has space
/// for.
const WHILE_STOPPED: &str = r#"
kill -STOP $PPID
dd if=/dev/zero of=/dev/null bs=1 count=30000 2>/dev/null
sleep 0.2
kill -CONT $PPID"#;

#[test]
fn events_wait_in_the_buffer_of_the_kernel_until_the_archive_is_saved() {
    if !can_trace() {
        return;
    }
    let _others_wait = many_calls();
    let directory = tempfile::tempdir().unwrap();
    let options = ["record", "--strict", "-c", "kernel:syscall", "-b", "4M", "--kernel-buffer=64M"];
    let mut record = command(directory.path(), &options);
    let run = Run::of(record.args(["-o", "t.fxt", "--", "sh", "-c", WHILE_STOPPED]));
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&directory.path().join("t.fxt"));
    let calls = archive.only().events.iter().filter(|event| event.category == "kernel:syscall");
    let number = |name: &str| calls.clone().filter(|event| event.name == name).count();
    assert!(number("read") >= 30_000 && number("write") >= 30_000);
    assert_eq!(archive.only().lost(), 0);
}

/// The reason of events that the kernel dropped.
const KERNEL_FULL: &str = "kernel buffer full";

/// The file of a daemon's log.
const LOG: &str = "daemon.log";

/// A daemon in a directory of its own. It is killed when this is dropped.
struct Daemon {
    directory: TempDir,
    child: Child,
}

impl Daemon {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut daemon = command(directory.path(), &["daemon", "--dir"]);
        daemon.arg(directory.path()).arg("--socket").arg(directory.path().join("manager.sock"));
        let log = File::create(directory.path().join(LOG)).unwrap();
        let child = daemon.stderr(log).spawn().unwrap();
        let daemon = Self { directory, child };
        wait_until("the daemon answers", || daemon.run(&["list", "sessions"]).code() == 0);
        daemon
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn socket(&self) -> String {
        self.path("manager.sock").into_os_string().into_string().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(command(self.directory.path(), arguments).args(["--socket", &self.socket()]))
    }

    /// Runs a command that must succeed.
    fn done(&self, arguments: &[&str]) {
        let run = self.run(arguments);
        assert_eq!(run.code(), 0, "{run:?}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Returns the providers of the kernel in an archive.
fn kernels(archive: &Path) -> Vec<u64> {
    let archive = Archive::read(archive);
    archive.providers.iter().filter(|it| it.name == "kernel").map(|it| it.pid).collect()
}

/// Each session has a helper of its own, which other sessions do not record.
#[test]
fn sessions_of_a_daemon_record_the_kernel() {
    if !can_trace() {
        return;
    }
    let daemon = Daemon::start();
    daemon.done(&["start", "--name", "before", "-c", "app", "-o", "before.fxt"]);
    daemon.done(&["start", "--name", "sched", "--sched", "-o", "sched.fxt"]);
    daemon.done(&["start", "--name", "calls", "-c", "kernel:syscall", "-o", "calls.fxt"]);
    daemon.done(&["start", "--name", "after", "-o", "after.fxt"]);
    let socket = daemon.socket();
    let arguments = ["sched", "--socket", &socket];
    let mut followed = follow(daemon.directory.path(), &arguments, &daemon.path("live.fxt"));
    wait_until("switches arrive", || switches(&daemon.path("live.fxt")).len() > 20);
    for (session, category) in [("before", "kernel:sched"), ("sched", "app")] {
        let run = daemon.run(&["categories", session, "--add", category]);
        assert_eq!(run.code(), 1, "the kernel is selected at the start: {run:?}");
    }
    daemon.done(&["pause", "sched"]);
    daemon.done(&["resume", "sched"]);
    for name in ["sched", "calls", "before", "after"] {
        daemon.done(&["stop", name]);
    }
    assert_eq!(followed.wait().unwrap().code(), Some(0));
    let of = |name: &str| kernels(&daemon.path(name));
    assert!(of("before.fxt").is_empty() && of("after.fxt").is_empty());
    let (sched, calls) = (of("sched.fxt"), of("calls.fxt"));
    assert!(!sched.is_empty() && !calls.is_empty());
    assert!(sched.iter().all(|helper| !calls.contains(helper)), "{sched:?} {calls:?}");
    assert!(switches(&daemon.path("sched.fxt")).is_sorted());
    assert!(switches(&daemon.path("calls.fxt")).is_empty());
    for helper in [sched, calls].concat() {
        assert!(has_ended(helper) && instances(helper).is_empty());
    }
}

/// The helper is no program that the recording waits for.
#[test]
fn a_recording_of_running_programs_ends_with_them() {
    if !can_trace() {
        return;
    }
    let daemon = Daemon::start();
    let mut subject = Command::new(subject_path());
    subject.arg("idle").env("TRACE_SOCKET", daemon.socket());
    let subject = subject.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut subject = subject.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(subject.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let pid = subject.id().to_string();
    let arguments = ["record", "--attach", &pid, "--wait", "--strict", "-c", "kernel:sched"];
    let mut record = command(daemon.directory.path(), &arguments);
    record.args(["-o", "t.fxt", "--socket", &daemon.socket()]);
    let record = record.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let sessions = || daemon.run(&["list", "sessions", "--json"]).stdout();
    wait_until("the program has joined", || sessions().contains("\"joined\": 1"));
    drop(subject.stdin.take());
    assert!(subject.wait().unwrap().success());
    let run = Run::end_of(record);
    assert_eq!(run.code(), 0, "all selected events were recorded: {run:?}");
    assert!(!switches(&daemon.path("t.fxt")).is_empty());
}

#[test]
fn a_recording_of_the_command_and_the_kernel_ends_with_the_command() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["record", "--wait", "--sched", "-o", "t.fxt", "--", "true"];
    assert_eq!(Run::of(&mut command(directory.path(), &arguments)).code(), 0);
}

/// The number of reads, and of writes, of a program. Their records have 6 MB, of which the helper's
/// buffer has space for 4 MB. The events of the others have 1.2 MB: the kernel's buffer has 8 MB
/// for each CPU.
const CALLS: usize = 20_000;

/// The daemon reads the request before it has saved the helper's records.
#[test]
fn the_last_events_are_saved_when_a_session_of_a_daemon_stops() {
    if !can_trace() {
        return;
    }
    let _others_wait = many_calls();
    let daemon = Daemon::start();
    let arguments = ["start", "--name", "t", "-c", "kernel:syscall", "-b", "4M", "-o", "t.fxt"];
    daemon.done(&arguments);
    let pid = rustix::process::Pid::from_child(&daemon.child);
    let signal = |signal| rustix::process::kill_process(pid, signal).unwrap();
    signal(rustix::process::Signal::Stop);
    let mut load = Command::new("dd");
    load.args(["if=/dev/zero", "of=/dev/null", "bs=1", &format!("count={CALLS}")]);
    let mut load = load.stderr(Stdio::null()).spawn().unwrap();
    assert!(load.wait().unwrap().success());
    let mut stop = command(daemon.directory.path(), &["stop", "t", "--socket", &daemon.socket()]);
    let stop = stop.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    signal(rustix::process::Signal::Cont);
    let run = Run::end_of(stop);
    assert_eq!(run.code(), 0, "{run:?}");
    if run.stderr().contains("did not answer the stop") {
        return eprintln!("skipped: a busy machine, on which saving takes longer than a stop may");
    }
    let archive = Archive::read(&daemon.path("t.fxt"));
    assert_has_calls(archive.only(), load.id().into());
}

/// Checks that all calls of a program were recorded, or that the kernel reports the missing events:
/// other programs of the machine may fill its buffer.
fn assert_has_calls(kernel: &Provider, thread: u64) {
    let is_call = |name: &str| name == "read" || name == "write";
    let calls = kernel.events.iter().filter(|it| it.thread == thread && is_call(&it.name));
    let is_of_kernel = |reason: &String| reason.starts_with(KERNEL_FULL);
    assert!(kernel.lost.keys().all(is_of_kernel), "the helper lost none: {:?}", kernel.lost);
    if kernel.lost.keys().any(|reason| reason != KERNEL_FULL) {
        return eprintln!("skipped: the kernel does not report how many events it dropped");
    }
    // A call is missing if one of its two events is, or if events between them are.
    let most_missing = kernel.lost() + kernel.losses.len() as u64;
    let calls = calls.count() as u64;
    assert!(calls + most_missing >= 2 * CALLS as u64, "{calls} calls, {:?}", kernel.lost);
}

#[test]
fn sessions_of_a_daemon_refuse_unknown_categories_of_the_kernel() {
    let daemon = Daemon::start();
    let run = daemon.run(&["start", "-c", "kernel:shced", "-o", "t.fxt"]);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("did you mean kernel:sched"), "{run:?}");
    let run = daemon.run(&["record", "--attach", "all", "--kernel-buffer", "1M", "-o", "t.fxt"]);
    assert_eq!(run.code(), 2, "{run:?}");
    assert!(!daemon.path("t.fxt").exists());
}

#[test]
fn a_session_of_a_daemon_that_cannot_record_the_kernel_does_not_start() {
    if !can_trace() {
        return;
    }
    let daemon = Daemon::start();
    let run = daemon.run(&["start", "-c", "kernel:event:sched/none", "-o", "t.fxt"]);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("the kernel has no event sched/none"), "{run:?}");
    assert!(!daemon.path("t.fxt").exists());
}

/// The helper records before the session is refused.
#[test]
fn the_end_of_a_session_that_is_refused_is_not_that_of_a_recording() {
    if !can_trace() {
        return;
    }
    let daemon = Daemon::start();
    let start = ["start", "--name", "t", "-c", "kernel:sched", "--rotate", "1K", "-o", "t.fxt"];
    let run = daemon.run(&start);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("too small"), "{run:?}");
    let log = fs::read_to_string(daemon.path(LOG)).unwrap();
    assert!(!log.contains("trace-kernel"), "{log}");
}
