//! The threads of a control group: their switches are those that the kernel counts, and those of
//! other threads are not recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::can_trace;
use super::harness::{subject_path, trace, Archive, Run};
use super::schedule::Step;
use super::sources::{can_run, Place, NOBODY, PERFMON};
use super::truth::Recorded;

/// Waits for a line of the FIFO `$1`, and keeps the FIFO `$2` open until its program ends.
const MEMBER: &str = r#"read line < "$1"; exec 5> "$2"; program=$3; shift 3; exec "$program" "$@""#;

/// Starts the member, and waits for its end.
const COMMAND: &str = r#"echo go > "$1"; cat "$2""#;

/// A control group of version 2, which is removed when this is dropped.
struct Group(PathBuf);

impl Group {
    /// Creates a group. Reports if that is not permitted.
    fn new(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mut places = mounts.lines().filter(|line| line.contains(" cgroup2 "));
        let place = places.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let path = Path::new(place).join(format!("trace-test-{name}-{}", std::process::id()));
        if place.is_empty() || fs::create_dir(&path).is_err() {
            eprintln!("skipped: control groups of version 2 cannot be created");
            return None;
        }
        Some(Self(path))
    }

    fn add(&self, process: u32) {
        add(&self.0, process);
    }

    fn scope(&self) -> String {
        format!("--kernel-scope=cgroup:{}", self.0.display())
    }
}

fn add(group: &Path, process: u32) {
    fs::write(group.join("cgroup.procs"), process.to_string()).unwrap();
}

impl Drop for Group {
    fn drop(&mut self) {
        let removed = || fs::remove_dir(&self.0);
        let mut attempts = (0..1000).map(|_| removed().is_ok());
        while attempts.next() == Some(false) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// Starts a command that waits, outside of the recorded command.
fn member(prefix: &[&str], directory: &Path, program: &[&Path], arguments: &[&str]) -> Child {
    for fifo in ["start", "end"] {
        let made = Command::new("mkfifo").args(["-m", "666"]).arg(directory.join(fifo)).status();
        assert!(made.unwrap().success());
    }
    let shell = [prefix, &["sh", "-c", MEMBER, "sh"]].concat();
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).arg(directory.join("start")).arg(directory.join("end"));
    command.args(program).args(arguments).env("TRACE_SOCKET", directory.join("socket"));
    command.spawn().unwrap()
}

/// Adds the command that starts the member and waits for its end.
fn start_member(command: &mut Command, directory: &Path) -> Run {
    command.arg("--socket").arg(directory.join("socket")).args(["--", "sh", "-c", COMMAND, "sh"]);
    Run::of(command.arg(directory.join("start")).arg(directory.join("end")))
}

/// The member is in a group below the recorded one, and threads outside of it wake each other up.
#[test]
fn switches_of_a_group_are_those_that_the_kernel_counts() {
    if !can_trace() {
        return;
    }
    let Some(group) = Group::new("switches") else { return };
    let inner = group.0.join("inner");
    fs::create_dir(&inner).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut member = member(&[], directory.path(), &[&subject_path()], &["scheduled", ""]);
    add(&inner, member.id());
    let mut writer = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
    let pipe = writer.stdout.take().unwrap();
    let mut reader = Command::new("cat").stdin(pipe).stdout(Stdio::null()).spawn().unwrap();
    let mut record = trace(&["record", "-c", "scheduled,kernel:sched", &group.scope(), "-o"]);
    let run = start_member(record.arg(&output), directory.path());
    for noise in [&mut reader, &mut writer, &mut member] {
        let _ended = noise.kill();
        noise.wait().unwrap();
    }
    fs::remove_dir(inner).unwrap();
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(!run.stderr().contains("the kernel's source"), "{run:?}");
    let recorded = Recorded::read(&output);
    recorded.assert_counts();
    let (yes, cat) = (u64::from(writer.id()), u64::from(reader.id()));
    let of_noise = recorded.steps.get(&yes).into_iter().flatten();
    let is_other = |step: &Step| match *step {
        Step::In { from: other, .. } | Step::Out { to: other, .. } => other == cat,
        Step::Woken { by, .. } => by == cat,
    };
    assert_eq!(of_noise.filter(|(_, step)| is_other(step)).count(), 0);
}

/// The kernel selects the records of perf events by the group.
#[test]
fn perfmon_records_the_switches_of_a_group() {
    if !can_trace() || !can_run(&PERFMON) {
        return;
    }
    let Some(group) = Group::new("perfmon") else { return };
    let place = Place::new();
    let directory = place.directory.path();
    let mut member = member(&NOBODY, directory, &[&place.path("subject")], &["scheduled", ""]);
    group.add(member.id());
    let mut record = Command::new(PERFMON[0]);
    record.args(&PERFMON[1..]).arg(place.path("trace")).args(["record", "--strict"]);
    record.args(["-c", "scheduled,kernel:sched", &group.scope(), "-o"]).arg(place.output());
    record.env("TRACE_CONFIG", "").current_dir(directory);
    let run = start_member(&mut record, directory);
    let _ended = member.kill();
    member.wait().unwrap();
    if run.stderr().contains("cannot trace the control group: perf_event_open failed") {
        return super::lacks("perf events");
    }
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("the kernel's source is perf events of all threads"), "{run:?}");
    Recorded::read(&place.output()).assert_counts();
}

/// One process is moved into the group while it is recorded, and one out of it.
#[test]
fn processes_that_are_moved_join_and_leave() {
    if !can_trace() {
        return;
    }
    let Some(group) = Group::new("moved") else { return };
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let sleeper =
        || Command::new("sh").args(["-c", "while :; do sleep 0.01; done"]).spawn().unwrap();
    let (mut joins, mut leaves, mut stays_out) = (sleeper(), sleeper(), sleeper());
    group.add(leaves.id());
    // The first half is a time in which the helper looks at the group many times.
    let script = r#"echo $2 > "$0/cgroup.procs"; echo $3 > "$0/../cgroup.procs"; sleep 5"#;
    let mut record = trace(&["record", "-c", "*,kernel:sched,kernel:tasks", &group.scope(), "-o"]);
    record.arg(&output).args(["--", "sh", "-c", script]).arg(&group.0).arg("sh");
    let run = Run::of(record.args([joins.id(), leaves.id()].map(|it| it.to_string())));
    for child in [&mut joins, &mut leaves, &mut stays_out] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&output);
    let kernel = archive.providers.iter().find(|it| it.name == "kernel").unwrap();
    // Each of them starts a process again and again.
    let forks = |child: &Child| -> Vec<u64> {
        let own = kernel.named("fork").filter(|event| event.thread == u64::from(child.id()));
        own.map(|event| event.ticks).collect()
    };
    let (joined, left) = (forks(&joins), forks(&leaves));
    assert!(joined.len() > 5, "{joined:?}");
    assert!(forks(&stays_out).is_empty());
    // The first half is a time in which the helper looks at the group many times.
    let (first, last) = (joined[0], joined[joined.len() - 1]);
    let half = first + (last - first) / 2;
    assert!(joined.iter().any(|ticks| *ticks > half));
    assert_eq!(left.iter().filter(|ticks| **ticks > half).count(), 0, "{left:?}");
}

/// Samples and counters are of the group only.
#[test]
fn samples_and_counters_of_a_group() {
    if !can_trace() {
        return;
    }
    let Some(group) = Group::new("counters") else { return };
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut member = member(&[], directory.path(), &[&subject_path()], &["counted", "0", "2000"]);
    group.add(member.id());
    let mut noise = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let mut record = trace(&["record", "--samples", "--counters=context-switches"]);
    record.args([&group.scope(), "-o"]).arg(&output);
    let run = start_member(&mut record, directory.path());
    noise.kill().unwrap();
    noise.wait().unwrap();
    let _ended = member.kill();
    member.wait().unwrap();
    if run.stderr().contains("perf_event_open failed") {
        return super::lacks("perf events");
    }
    assert_eq!(run.code(), 0, "{run:?}");
    let mut last = std::collections::BTreeMap::new();
    super::counters::each_counter(&output, |_, id, value| {
        last.insert(id, value);
    });
    let switches: u64 = last.values().sum();
    // It sleeps 2000 times, and may be preempted.
    assert!((1900..4000).contains(&switches), "{last:?}");
    let sampled = sampled_processes(&output);
    assert!(sampled.iter().all(|process| *process == u64::from(member.id())), "{sampled:?}");
}

#[test]
fn other_directories_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let ran = directory.path().join("ran");
    let mut record = trace(&["record", "--sched", "--kernel-scope=cgroup:/none/at/all", "-o"]);
    let run = Run::of(record.arg(directory.path().join("t.fxt")).args(["--", "touch"]).arg(&ran));
    let expected = "cannot use the control group /none/at/all";
    assert!(run.stderr().contains(expected), "{run:?}");
    assert_eq!((run.code(), ran.exists()), (125, false), "{run:?}");
}

/// Returns the processes of the samples of an archive.
fn sampled_processes(path: &Path) -> Vec<u64> {
    use trace_format::{Reader, Record};
    let mut reader = Reader::new(fs::File::open(path).unwrap());
    let mut processes = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::Backtrace(backtrace) = &item.record {
            processes.push(item.thread(backtrace.thread).process);
        }
    }
    processes
}
