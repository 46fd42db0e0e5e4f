//! Starting a recording, and killing its processes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{
    kill_process, kill_process_group, prlimit, test_kill_process, Pid, Resource, Rlimit, Signal,
};
use tempfile::TempDir;

use crate::building::products;
use crate::memory::Group;
use crate::program::{PROGRESS, THREADS};

/// The buffers' sizes: saved every few milliseconds, or rarely.
pub(crate) const SIZES: [&str; 3] = ["1M", "16M", "4M"];

/// A timeout, longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// A running recording.
pub(crate) struct Stage {
    directory: TempDir,
    recorder: Mutex<Child>,
    program: Option<Mutex<Child>>,
    /// The read end of the archive's pipe, if there is one.
    _pipe: Option<std::process::ChildStdout>,
}

impl Stage {
    /// Records the program.
    pub(crate) fn start(mode: &str, size: &str) -> Self {
        let directory = prepare();
        // A oneshot buffer must hold all numbers.
        let size = if mode == "oneshot" { "64M" } else { size };
        let mut record =
            record(Command::new(trace()), &directory, &directory.path().join("out.fxt"));
        record.args(["-m", mode, "-b", size, "--"]).args(program());
        Self::spawn(directory, record, None)
    }

    /// Records the program into a buffer that streams, so that the session keeps its limit itself.
    pub(crate) fn shared(mode: &str, size: &str) -> Self {
        let directory = prepare();
        let mut record =
            record(Command::new(trace()), &directory, &directory.path().join("out.fxt"));
        record.args(["-m", mode, "--shared", "-b", size, "--"]).args(program());
        Self::spawn(directory, record, None)
    }

    /// Records the program into XRay logs.
    pub(crate) fn with_logs(mode: &str, size: &str) -> Self {
        let directory = prepare();
        let size = if mode == "oneshot" { "64M" } else { size };
        let mut record = record(Command::new(trace()), &directory, &directory.path().join("logs"));
        record.args(["--format", "xray", "-m", mode, "-b", size, "--"]).args(program());
        Self::spawn(directory, record, None)
    }

    /// Returns the directory of XRay logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.directory.path().join("logs")
    }

    /// Runs `trace recover` for the XRay logs.
    pub(crate) fn recover_logs(&self) {
        let recovered = Command::new(trace()).arg("recover").arg(self.logs()).output();
        let recovered = recovered.expect("trace runs");
        assert!(!recovered.stderr.is_empty(), "{recovered:?}");
    }

    /// Records a program that finds the session by its socket.
    pub(crate) fn with_program_apart(mode: &str, size: &str) -> Self {
        let directory = prepare();
        let mut record =
            record(Command::new(trace()), &directory, &directory.path().join("out.fxt"));
        record.args(["-m", mode, "-b", size, "--socket"]).arg(directory.path().join("sock"));
        let program = program_at(&directory);
        Self::spawn(directory, record, Some(program))
    }

    /// Starts a recording without a program, with a limited address space.
    pub(crate) fn waiting_with_memory(bytes: u64, size: &str) -> Self {
        let stage = Self::waiting(Command::new(trace()), size);
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        let recorder = Pid::from_child(&stage.recorder.lock().expect("no thread panicked"));
        prlimit(Some(recorder), Resource::As, limit).expect("it is a child");
        wait_until("the socket is there", || stage.socket().exists());
        stage
    }

    /// Starts a recording without a program, in a control group.
    pub(crate) fn waiting_in(group: &Group, size: &str) -> Self {
        let stage = Self::waiting(group.command(trace()), size);
        wait_until("the socket is there", || stage.socket().exists());
        stage
    }

    fn waiting(trace: Command, size: &str) -> Self {
        let directory = prepare();
        let mut record = record(trace, &directory, &directory.path().join("out.fxt"));
        record.args(["-m", "streaming", "-b", size, "--socket"]);
        record.arg(directory.path().join("sock"));
        Self::spawn(directory, record, None)
    }

    /// Starts the program, which finds the session by its socket.
    pub(crate) fn start_program(&mut self) {
        let mut program = program_at(&self.directory);
        self.program = Some(Mutex::new(program.spawn().expect("the program runs")));
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("sock")
    }

    /// Records the program into a pipe with a reader.
    pub(crate) fn to_a_pipe() -> Self {
        let directory = prepare();
        let mut record = record(Command::new(trace()), &directory, Path::new("-"));
        record.stdout(Stdio::piped()).args(["-b", "1M", "--"]).args(program());
        Self::spawn(directory, record, None)
    }

    fn spawn(directory: TempDir, mut record: Command, program: Option<Command>) -> Self {
        let mut recorder = record.spawn().expect("trace runs");
        let pipe = recorder.stdout.take();
        let program = program.map(|mut program| {
            wait_until("the socket is there", || directory.path().join("sock").exists());
            Mutex::new(program.spawn().expect("the program runs"))
        });
        Self { directory, recorder: Mutex::new(recorder), program, _pipe: pipe }
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.directory.path().join("out.fxt")
    }

    /// Returns the numbers that the threads have published.
    pub(crate) fn published(&self) -> Vec<u64> {
        (1..=THREADS).map(|place| self.progress(place)).collect()
    }

    fn progress(&self, place: u64) -> u64 {
        let mut number = [0; 8];
        let file = File::open(self.directory.path().join("progress")).expect("the test made it");
        file.read_exact_at(&mut number, place * 8).expect("it is large enough");
        u64::from_le_bytes(number)
    }

    /// Waits until each thread has reached `number`.
    pub(crate) fn wait_for_numbers(&self, number: u64) {
        let there = || self.published().iter().all(|published| *published >= number.max(1));
        wait_until("the program counts", there);
    }

    pub(crate) fn kill_manager(&self) {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.kill().expect("it can be killed");
        recorder.wait().expect("it can be waited for");
    }

    /// Has the kernel kill the manager because its group has no memory left. The guard, a process
    /// of its own, is not in the group.
    pub(crate) fn exhaust_memory_of_manager(&self, group: &Group) {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let mut other = group.exhaust(Pid::from_child(&recorder)).expect("the group is ours");
        wait_until("the manager dies", || matches!(recorder.try_wait(), Ok(Some(_))));
        wait_until("the other one dies", || matches!(other.try_wait(), Ok(Some(_))));
    }

    /// Kills the manager and the program together.
    pub(crate) fn kill_group(&self) {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        kill_process_group(Pid::from_child(&recorder), Signal::Kill).expect("they can be killed");
        recorder.wait().expect("it can be waited for");
    }

    pub(crate) fn kill_program(&self) {
        let pid = Pid::from_raw(self.progress(0) as i32)
            .expect("the program has published its process id");
        // The program may have ended with the recording.
        let _ended = kill_process(pid, Signal::Kill);
        wait_until("the program is dead", || !is_running(pid));
    }

    /// Waits until the archive is complete, and checks that the guard reported it or the session
    /// ended by itself.
    pub(crate) fn wait_for_archive(&self, context: &str) {
        self.wait_for_guard_to_end();
        assert!(self.archive().exists(), "{context}: {}", self.stderr());
        assert_eq!(self.partial_archives(), 0, "{context}");
        let by_guard = self.stderr().contains("is complete");
        let by_itself = self.stderr().contains(" events in ");
        assert!(by_guard || by_itself || self.renamed_last(), "{context}: {}", self.stderr());
    }

    /// Returns whether the manager may have been killed between renaming the archive and reporting
    /// it.
    fn renamed_last(&self) -> bool {
        !self.stderr().contains("cannot")
    }

    /// Waits until the guards of this recording have ended.
    pub(crate) fn wait_for_guard_to_end(&self) {
        let directory = self.directory.path().as_os_str();
        let guards = || {
            let environment =
                |pid: &Pid| fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
            let ours = |pid: &Pid| environment(pid).is_ok_and(|it| contains(&it, directory));
            processes_named("trace-guard")
                .into_iter()
                .chain(processes_named("exe"))
                .any(|it| ours(&it))
        };
        wait_until("the guard ends", || !guards());
    }

    /// Returns the guard of the recording, which is still running.
    pub(crate) fn guard(&self) -> Option<Pid> {
        let recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner).id();
        processes_named("trace-guard").into_iter().find(|pid| parent(*pid) == Some(recorder))
    }

    pub(crate) fn kill_guard(&self) {
        let guard = self.guard().expect("there is a guard");
        kill_process(guard, Signal::Kill).expect("it can be killed");
        wait_until("the guard is dead", || !is_running(guard));
    }

    /// Stops the recording as Ctrl-C does, and waits for its end.
    pub(crate) fn stop_recording(&mut self) {
        self.kill_program();
        let recorder = self.recorder.get_mut().unwrap_or_else(PoisonError::into_inner);
        wait_until("the recording ends", || matches!(recorder.try_wait(), Ok(Some(_))));
    }

    /// Records for this long, from the same socket to another archive.
    pub(crate) fn record_next(&self, duration: Duration) -> PathBuf {
        let second = self.directory.path().join("second.fxt");
        self.record_to(&second, duration);
        second
    }

    pub(crate) fn record_to(&self, output: &Path, duration: Duration) {
        let mut record = record(Command::new(trace()), &self.directory, output);
        record.args([
            "-b",
            "16M",
            "--wait",
            "-d",
            &format!("{}ms", duration.as_millis()),
            "--socket",
        ]);
        let status = record.arg(self.directory.path().join("sock")).status().expect("trace runs");
        assert!(status.success(), "{}", self.stderr());
    }

    /// Runs `trace check`: the archive must be well-formed, even if records were dropped.
    pub(crate) fn check_archive(&self, context: &str) {
        let check =
            Command::new(trace()).arg("check").arg(self.archive()).output().expect("it runs");
        let said = String::from_utf8_lossy(&check.stdout);
        assert!(said.starts_with("well-formed"), "{context}: {said}");
    }

    /// Asserts that the program continues after the manager's death.
    pub(crate) fn assert_program_continues(&self) {
        let now = self.published();
        self.wait_for_numbers(now.iter().max().expect("there are threads") + 100);
    }

    /// Returns the number of partial archives.
    pub(crate) fn partial_archives(&self) -> usize {
        let entries = fs::read_dir(self.directory.path()).expect("the directory is there");
        let names = entries.map(|entry| entry.expect("it can be read").file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".partial")).count()
    }

    /// Returns the number of private directories for sockets.
    pub(crate) fn private_places(&self) -> usize {
        let entries = fs::read_dir(self.directory.path()).expect("the directory is there");
        let names = entries.map(|entry| entry.expect("it can be read").file_name());
        names.filter(|name| name.to_string_lossy().starts_with("trace-")).count()
    }

    /// Returns the messages of the recording and its guard.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.directory.path().join("stderr")).expect("the test made it")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.progress(0) != 0 {
            self.kill_program_quietly();
        }
        let recorder = self.recorder.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ended = (recorder.kill(), recorder.wait());
        if let Some(program) = &mut self.program {
            let program = program.get_mut().unwrap_or_else(PoisonError::into_inner);
            let _ended = (program.kill(), program.wait());
        }
    }
}

impl Stage {
    fn kill_program_quietly(&self) {
        if let Some(pid) = Pid::from_raw(self.progress(0) as i32) {
            let _ended = kill_process(pid, Signal::Kill);
        }
    }
}

/// Random numbers, seeded with the time.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(salt: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
        Self((now.as_nanos() as u64).wrapping_add(salt) | 1)
    }

    pub(crate) fn up_to(&mut self, limit: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    pub(crate) fn time(&mut self, limit: Duration) -> Duration {
        Duration::from_nanos(self.up_to(limit.as_nanos() as u64))
    }
}

/// Returns whether a process exists and is no zombie.
pub(crate) fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let zombie =
        stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|it| it.starts_with(" Z")));
    test_kill_process(pid).is_ok() && !zombie
}

fn prepare() -> TempDir {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let progress = File::create(directory.path().join("progress")).expect("it is ours");
    progress.set_len(8 + 8 * THREADS).expect("there is room");
    File::create(directory.path().join("stderr")).expect("it is ours");
    directory
}

fn record(mut trace: Command, directory: &TempDir, output: &Path) -> Command {
    let stderr = File::options().append(true).open(directory.path().join("stderr"));
    trace.args(["record", "-o"]).arg(output).stdin(Stdio::null()).stdout(Stdio::null());
    trace.process_group(0).stderr(stderr.expect("the test made it"));
    trace.env(PROGRESS, directory.path().join("progress")).env_remove("TRACE_SOCKET");
    // The parent of the private socket's directory.
    trace.env("XDG_RUNTIME_DIR", directory.path());
    trace
}

/// The command line of this test as the recorded program.
fn program() -> [PathBuf; 4] {
    let exe = std::env::current_exe().expect("the test knows where it is");
    [exe, "--ignored".into(), "--exact".into(), "traced_program".into()]
}

fn trace() -> PathBuf {
    products().join("trace")
}

fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn processes_named(name: &str) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").expect("there is /proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let named = numbers.filter(|pid| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name)
    });
    named.filter_map(Pid::from_raw).filter(|pid| is_running(*pid)).collect()
}

fn parent(pid: Pid) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

fn contains(bytes: &[u8], part: &std::ffi::OsStr) -> bool {
    let part = part.as_encoded_bytes();
    bytes.windows(part.len()).any(|window| window == part)
}

/// Returns the program's command, which finds the session by its socket.
fn program_at(directory: &TempDir) -> Command {
    let [exe, arguments @ ..] = program();
    let mut program = Command::new(exe);
    program.args(arguments).env(PROGRESS, directory.path().join("progress"));
    program.env("TRACE_SOCKET", directory.path().join("sock")).stdout(Stdio::null());
    program
}
