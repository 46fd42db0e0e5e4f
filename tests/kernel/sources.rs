//! What is recorded without tracefs: with CAP_PERFMON, as an ordinary user, in a namespace, and in
//! a sandbox. Each source is as exact as tracefs in what it records, and the rest is reported.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use trace_format::layout::{ObjectType, ThreadState};
use trace_format::{Reader, Record};

use super::harness::{subject_path, trace, Archive, Run};
use super::sandbox::deny_perf_events;
use super::schedule::Step;
use super::truth::Recorded;

/// The user `nobody`, without other groups.
pub(crate) const NOBODY: [&str; 5] =
    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// The same with a capability.
pub(super) const PERFMON: [&str; 7] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=+perfmon",
    "--ambient-caps=+perfmon",
    "--",
];

/// Hides tracefs, whose mounts cannot be removed in a user namespace.
const HIDE: &str = r#"mount -t tmpfs none /sys/kernel/tracing &&
    { [ ! -d /sys/kernel/debug ] || mount -t tmpfs none /sys/kernel/debug; } && exec "$@""#;

/// Stops the recorder's helper, which does not read its ring buffers while a program has more
/// switches than they have space for.
const MANY_SWITCHES: &str = r#"
for process in /proc/[0-9]*; do
    [ "$(cat "$process/comm")" = trace-kernel ] || continue
    grep -q "^PPid:.$PPID\$" "$process/status" && helper=${process#/proc/}
done 2>/dev/null
kill -STOP "$helper" || exit 1
for run in 1 2 3 4 5 6 7 8 9 10; do env -u TRACE_SOCKET "$0" scheduled ""; done
kill -CONT "$helper""#;

/// The messages of sources.
const ALL_THREADS: &str = "the kernel's source is perf events of all threads";
const COMMAND_THREADS: &str = "the kernel's source is perf events of the command's threads";
const SAMPLES: &str = "the kernel's source is samples of /proc/PID/schedstat";

/// Copies of the programs, which other users may execute.
pub(super) struct Place {
    pub(super) directory: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let place = Self { directory };
        fs::copy(trace(&[]).get_program(), place.path("trace")).unwrap();
        fs::copy(subject_path(), place.path("subject")).unwrap();
        place
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns a command that records the test program in the environment of `prefix`.
    pub(super) fn record(&self, prefix: &[&str], options: &[&str]) -> Command {
        // The directory of the socket belongs to the user.
        let start = ["sh", "-c", r#"mkdir -m 700 -p "$XDG_RUNTIME_DIR" && exec "$@""#, "sh"];
        let mut command = Command::new(prefix[0]);
        command.args(&prefix[1..]).args(start).arg(self.path("trace"));
        command.args(["record", "--sched", "--strict"]);
        command.args(options).arg("-o").arg(self.output());
        command.arg("--").arg(self.path("subject")).args(["scheduled", ""]);
        command.env("TRACE_CONFIG", "").env("XDG_RUNTIME_DIR", self.path("runtime"));
        command.current_dir(self.directory.path());
        command
    }

    pub(super) fn output(&self) -> PathBuf {
        self.path("t.fxt")
    }
}

/// Returns whether commands of this prefix can run. Reports if they cannot.
pub(crate) fn can_run(prefix: &[&str]) -> bool {
    let can = runs(prefix);
    if !can {
        super::lacks(&format!("commands below {}", prefix.join(" ")));
    }
    can
}

/// Returns whether commands of this prefix can run.
pub(super) fn runs(prefix: &[&str]) -> bool {
    let output = Command::new(prefix[0]).args(&prefix[1..]).arg("true").output();
    rustix::process::geteuid().is_root() && output.is_ok_and(|output| output.status.success())
}

/// Records with a source that has perf events. Returns `None` if this machine forbids them.
fn recorded(place: &Place, command: &mut Command, source: &str) -> Option<Recorded> {
    let run = Run::of(command);
    let stderr = run.stderr();
    if stderr.contains(SAMPLES) {
        assert!(stderr.contains("hint: cannot trace the command's threads"), "{stderr}");
        super::lacks("perf events");
        return None;
    }
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(stderr.contains(source), "{stderr}");
    assert!(!stderr.contains("dropped"), "{stderr}");
    let recorded = Recorded::read(&place.output());
    assert_eq!(recorded.provider("kernel").lost(), 0);
    Some(recorded)
}

/// Asserts that switches agree with the kernel's counts and with the events of the program.
fn assert_exact(recorded: &Recorded) {
    recorded.assert_counts();
    recorded.assert_events_are_within_turns();
    let mut steps = recorded.steps.values().flatten();
    assert!(!steps.any(|(_, step)| matches!(step, Step::Woken { .. })), "perf has no wake-ups");
    let subject = recorded.provider("subject");
    let names = &recorded.provider("kernel").thread_names[&subject.pid];
    assert!(names.contains(&"subject".to_owned()), "{names:?}");
    let last = recorded.steps[&subject.pid].last().unwrap().1;
    assert!(matches!(last, Step::Out { state: ThreadState::DEAD, .. }), "{last:?}");
}

#[test]
fn perfmon_records_both_threads_of_each_switch() {
    if !can_run(&PERFMON) {
        return;
    }
    let place = Place::new();
    for options in [&[][..], &["--kernel-scope=machine"]] {
        let mut command = place.record(&PERFMON, options);
        let Some(recorded) = recorded(&place, &mut command, ALL_THREADS) else { return };
        assert_exact(&recorded);
        let pid = recorded.provider("subject").pid;
        let steps = recorded.steps[&pid].iter();
        let others = steps.map(|(_, step)| match *step {
            Step::In { from: other, .. } | Step::Out { to: other, .. } => other,
            Step::Woken { .. } => unreachable!("perf has no wake-ups"),
        });
        let others: Vec<u64> = others.collect();
        let no_thread = u64::from(u32::MAX);
        assert!(!others.contains(&no_thread), "-1 is not a thread");
        // Only a thread that is preempted while it ends has no id.
        let unnamed = others.iter().filter(|other| **other > no_thread).count();
        assert!(unnamed * 2 < others.len(), "{unnamed} of {}", others.len());
    }
}

/// A directory in place of tracefs whose formats of events can be read, and nothing be created, as
/// with the option `gid` of its mount.
const READABLE: &str = r#"cd /sys/kernel/tracing && place=$(mktemp -d) && mkdir "$place/instances" &&
    for event in events/sched/*/ events/task/*/ events/raw_syscalls/*/ events/irq/*/; do
        mkdir -p "$place/$event" && cat "$event/format" > "$place/$event/format" || exit 1
    done && cat available_events > "$place/available_events" && chmod -R a+rX "$place" && cd / &&
    mount --bind "$place" /sys/kernel/tracing && exec "$@""#;

#[test]
fn perfmon_records_wakeups_by_tracepoints() {
    let readable = ["unshare", "--mount", "sh", "-c", READABLE, "sh"];
    let prefix = [&readable[..], &PERFMON].concat();
    if !super::can_trace() || !can_run(&prefix) {
        return;
    }
    let place = Place::new();
    for scope in [&[][..], &["--kernel-scope=machine"]] {
        let run = Run::of(&mut place.record(&prefix, scope));
        let stderr = run.stderr();
        if stderr.contains(ALL_THREADS) || stderr.contains(COMMAND_THREADS) {
            assert!(stderr.contains("perf_event_open failed"), "{stderr}");
            return super::lacks("perf tracepoints");
        }
        assert_eq!(run.code(), 0, "{run:?}");
        assert!(!stderr.contains("the kernel's source"), "{stderr}");
        let recorded = Recorded::read(&place.output());
        recorded.assert_counts();
        recorded.assert_that_threads_wake_up_each_other();
        let kernel = recorded.provider("kernel");
        assert!(kernel.count("exec") > 0);
        // A thread that changes its own CPU is moved by a thread of the kernel.
        assert!(scope.is_empty() || kernel.count("migrate") > 0);
    }
}

#[test]
fn perfmon_records_system_calls_and_interrupts_by_tracepoints() {
    let readable = ["unshare", "--mount", "sh", "-c", READABLE, "sh"];
    let prefix = [&readable[..], &PERFMON].concat();
    if !super::can_trace() || !can_run(&prefix) {
        return;
    }
    let place = Place::new();
    let categories = "scheduled,kernel:syscall,kernel:irq,atrace";
    let run = Run::of(&mut place.record(&prefix, &["-c", categories]));
    let stderr = run.stderr();
    if stderr.contains(ALL_THREADS) || stderr.contains(COMMAND_THREADS) {
        return super::lacks("perf tracepoints");
    }
    assert!(stderr.contains("atrace: not recorded without tracefs"), "{stderr}");
    assert!(!stderr.contains("kernel:syscall: not recorded"), "{stderr}");
    let recorded = Recorded::read(&place.output());
    recorded.assert_counts();
    let (kernel, subject) = (recorded.provider("kernel"), recorded.provider("subject"));
    let calls = kernel.events.iter().filter(|event| event.category == "kernel:syscall");
    let of_subject = calls.filter(|call| call.process == subject.pid).count();
    assert!(of_subject > 500, "{of_subject} calls");
    assert!(kernel.events.iter().any(|event| event.category == "kernel:irq"));
}

/// Other events are left out by the helper, because the kernel writes those of all threads.
#[test]
fn tracepoints_of_the_command_only() {
    let readable = ["unshare", "--mount", "sh", "-c", READABLE, "sh"];
    let prefix = [&readable[..], &PERFMON].concat();
    if !super::can_trace() || !can_run(&prefix) {
        return;
    }
    let place = Place::new();
    let mut noise =
        Command::new("sh").args(["-c", "while :; do sleep 0.01; done"]).spawn().unwrap();
    let run = Run::of(&mut place.record(&prefix, &[]));
    noise.kill().unwrap();
    noise.wait().unwrap();
    assert_eq!(run.code(), 0, "{run:?}");
    let recorded = Recorded::read(&place.output());
    let forks = recorded.provider("kernel").named("fork");
    assert_eq!(forks.filter(|fork| fork.thread == u64::from(noise.id())).count(), 0);
}

#[test]
fn users_record_the_switches_of_their_own_processes() {
    if !can_run(&NOBODY) {
        return;
    }
    let place = Place::new();
    let mut command = place.record(&NOBODY, &[]);
    let Some(recorded) = recorded(&place, &mut command, COMMAND_THREADS) else { return };
    assert_exact(&recorded);
    let stats = Run::of(trace(&["stats", "--sched", "--json"]).arg(place.output()));
    let stats: serde_json::Value = serde_json::from_str(&stats.stdout()).unwrap();
    let threads = stats["threads"].as_array().unwrap();
    let missing = threads.iter().map(|times| times["missing_switches"].as_u64().unwrap());
    assert_eq!(missing.sum::<u64>(), 0, "{stats}");
}

#[test]
fn dropped_records_are_reported() {
    if !can_run(&NOBODY) {
        return;
    }
    let place = Place::new();
    let mut command = Command::new(NOBODY[0]);
    command.args(&NOBODY[1..]).arg(place.path("trace")).env("TRACE_CONFIG", "");
    command.args(["record", "--sched", "--strict", "--kernel-buffer=64K", "-o"]);
    command.arg(place.output()).args(["--", "sh", "-c", MANY_SWITCHES]).arg(place.path("subject"));
    let run = Run::of(command.current_dir(place.directory.path()).env_remove("XDG_RUNTIME_DIR"));
    if run.stderr().contains(SAMPLES) {
        return super::lacks("perf events");
    }
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stderr().contains("the kernel dropped at least"), "{run:?}");
    let archive = Archive::read(&place.output());
    let losses = &archive.only().losses;
    assert!(!losses.is_empty());
    for loss in losses {
        assert!(loss.numbers["number"] > 0, "{loss:?}");
        assert!(loss.numbers["from"] <= loss.numbers["to"], "{loss:?}");
        assert!(archive.only().thread_names[&loss.thread][0].starts_with("CPU "), "{loss:?}");
    }
}

#[test]
fn users_get_the_remedy_for_the_whole_machine() {
    if !can_run(&NOBODY) {
        return;
    }
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if !level.trim().parse().is_ok_and(|level: i32| level > 0) {
        return eprintln!("skipped: all users may trace the machine");
    }
    let place = Place::new();
    let run = Run::of(&mut place.record(&NOBODY, &["--kernel-scope=machine"]));
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stderr().contains("cannot trace all threads: perf_event_open failed"), "{run:?}");
    assert!(run.stderr().contains("hint: "), "{run:?}");
}

/// Thread ids are those of the namespace, in which tracefs does not select threads.
#[test]
fn namespaces_without_tracefs_record_their_processes() {
    let unshare = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork"];
    let hide = ["--mount-proc", "sh", "-c", HIDE, "sh"];
    let prefix = [&NOBODY[..], &unshare, &hide].concat();
    if !can_run(&prefix) {
        return;
    }
    let place = Place::new();
    let mut command = place.record(&prefix, &[]);
    let Some(recorded) = recorded(&place, &mut command, COMMAND_THREADS) else { return };
    assert_exact(&recorded);
}

/// The ids of the recorder's threads in a pid namespace, from one on that a thread of the kernel
/// has.
const FROM_ID: &str = r#"echo $(($0 - 1)) > /proc/sys/kernel/ns_last_pid && exec "$@""#;

/// `/proc` of a pid namespace has other threads with the same ids.
#[test]
fn namespaces_do_not_know_the_processes_of_threads_by_their_own_ids() {
    let namespace = ["unshare", "--pid", "--fork", "--mount-proc"];
    if !super::can_trace() || !can_run(&namespace) {
        return;
    }
    let mut ids = (2..1000).filter(|id| {
        let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        name.starts_with("rcu_preempt") || name.starts_with("rcu_sched")
    });
    let Some(id) = ids.next_back() else {
        return eprintln!("skipped: no thread of the kernel is known");
    };
    let place = Place::new();
    let id_text = id.to_string();
    let prefix = [&namespace[..], &["sh", "-c", FROM_ID, &id_text]].concat();
    let mut record = Command::new(prefix[0]);
    record.args(&prefix[1..]).arg(place.path("trace")).env("TRACE_CONFIG", "");
    record.args(["record", "--sched", "--kernel-scope=machine", "-o"]).arg(place.output());
    record.args(["--", "sleep", "0.3"]).env_remove("XDG_RUNTIME_DIR");
    let run = Run::of(record.current_dir(place.directory.path()));
    assert_eq!(run.code(), 0, "{run:?}");
    let reported = "the processes of threads that exist already are unknown";
    assert!(run.stderr().contains(reported), "{run:?}");
    let bytes = fs::read(place.output()).unwrap();
    let (mut reader, mut number) = (Reader::new(&bytes[..]), 0);
    while let Some(item) = reader.next().unwrap() {
        let Record::KernelObject(object) = &item.record else { continue };
        if object.koid == id && object.object_type == ObjectType::THREAD {
            assert!(item.text(object.name).starts_with("rcu"), "{object:?}");
            assert!(object.arguments.is_empty(), "its process is unknown: {object:?}");
            number += 1;
        }
    }
    assert!(number > 0, "the thread {id} has run");
}

#[test]
fn the_reason_names_the_missing_tracefs() {
    let without = "umount -l /sys/kernel/debug /sys/kernel/tracing 2>/dev/null; \
        test ! -e /sys/kernel/tracing/instances && exec \"$@\"";
    let prefix = ["unshare", "--mount", "sh", "-c", without, "sh"];
    if !can_run(&prefix) {
        return;
    }
    let place = Place::new();
    let run = Run::of(&mut place.record(&prefix, &["-c", "*,kernel:irq"]));
    // A category requires tracefs.
    assert_eq!(run.code(), 3, "{run:?}");
    for text in [
        "cannot trace the kernel: tracefs is not mounted",
        "as root, run: mount -t tracefs nodev /sys/kernel/tracing",
        "kernel:irq: not recorded without tracefs",
    ] {
        assert!(run.stderr().contains(text), "{text}: {run:?}");
    }
}

#[test]
fn sandboxes_without_perf_events_get_samples() {
    if !can_run(&NOBODY) {
        return;
    }
    let place = Place::new();
    let mut command = place.record(&NOBODY, &[]);
    deny_perf_events(&mut command);
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 3, "{run:?}");
    let stderr = run.stderr();
    for text in [
        SAMPLES,
        "no context switches, only counters of run and wait times",
        "perf_event_open failed: operation not permitted (allow perf_event_open(2) in the sandbox",
    ] {
        assert!(stderr.contains(text), "{text}: {stderr}");
    }
    let recorded = Recorded::read(&place.output());
    let pid = recorded.provider("subject").pid;
    assert!(recorded.steps.is_empty());
    let kernel = recorded.provider("kernel");
    let samples = kernel.named("sampled schedstat").filter(|sample| sample.process == pid);
    let main = samples.filter(|sample| sample.thread == pid).map(|it| it.numbers["run_ns"]);
    let main: Vec<u64> = main.collect();
    assert!(!main.is_empty(), "the program runs longer than a round");
    assert!(main.is_sorted(), "{main:?}");
    assert!(kernel.thread_names[&pid].contains(&"subject".to_owned()));
}

#[test]
fn doctor_reports_the_source_and_the_remedy() {
    if !can_run(&NOBODY) {
        return;
    }
    let place = Place::new();
    let scheduling = |command: &mut Command| {
        let run = Run::of(command.env("TRACE_CONFIG", "").current_dir(Path::new("/")));
        let findings: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
        let mut findings = findings.as_array().unwrap().iter();
        findings.find(|finding| finding["subject"] == "scheduling").unwrap().clone()
    };
    let doctor = |prefix: &[&str]| {
        let mut command = Command::new(prefix[0]);
        command.args(&prefix[1..]).arg(place.path("trace")).args(["doctor", "--json"]);
        command
    };
    let mut denied = doctor(&NOBODY);
    deny_perf_events(&mut denied);
    let finding = scheduling(&mut denied);
    assert_eq!(finding["status"], "limited", "{finding}");
    assert!(finding["detail"].as_str().unwrap().starts_with("samples of /proc"), "{finding}");
    assert_eq!(finding["hint"], "allow perf_event_open(2) in the sandbox or container");
    let user = scheduling(&mut doctor(&NOBODY));
    assert_ne!(user["detail"].as_str().unwrap(), "tracefs", "{user}");
    // Tracefs does not select threads by the ids of a namespace.
    let namespace = ["unshare", "--pid", "--fork", "--mount-proc"];
    if can_run(&namespace) {
        let finding = scheduling(&mut doctor(&namespace));
        assert_ne!(finding["detail"].as_str().unwrap(), "tracefs", "{finding}");
    }
}
