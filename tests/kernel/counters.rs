//! Counters against the counts that the kernel keeps of each process itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use trace_format::{EventKind, Reader, Record, Value};

use super::harness::{subject_path, trace, wait_until, Archive, Provider, Run};
use super::sources::{can_run, NOBODY};

/// The pages and the sleeps of each of the two processes.
const PAGES: u64 = 20_000;
const SLEEPS: u64 = 300;

/// Runs two processes, one of them a child of a child. Returns the last values of the counters in
/// the archive, and the sums of faults and switches that the processes print.
fn record(pages: u64, sleeps: u64) -> (BTreeMap<String, u64>, [u64; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let script =
        format!(r#""$0" counted {pages} {sleeps}; sh -c '"$0" counted {pages} {sleeps}; :' "$0""#);
    let mut command = trace(&["record", "--strict", "--counters"]);
    command.args(["page-faults,context-switches,task-clock", "-o"]).arg(&output);
    command.args(["--", "sh", "-c", &script]).arg(subject_path());
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 0, "{run:?}");
    let mut sums = [0, 0];
    for line in run.stdout().lines() {
        let numbers = line.split_whitespace().map(|number| number.parse::<u64>().unwrap());
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    (last_values(&output), sums)
}

/// Returns the last value of each counter, which never falls.
fn last_values(archive: &Path) -> BTreeMap<String, u64> {
    let mut values = BTreeMap::new();
    each_counter(archive, |name, _, value| {
        let last = values.insert(name, value);
        assert!(last.unwrap_or(0) <= value);
    });
    values
}

/// Calls `visit` with the name, the id and the value of each counter record.
pub(super) fn each_counter(archive: &Path, mut visit: impl FnMut(String, u64, u64)) {
    let mut reader = Reader::new(fs::File::open(archive).unwrap());
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = item.record else { continue };
        let EventKind::Counter { id } = event.kind else { continue };
        let name = item.text(event.name).into_owned();
        assert_eq!(item.text(event.category), format!("cpu:counter:{name}"));
        let argument = event.arguments.iter().next().unwrap();
        let Value::Uint64(value) = argument.value else { panic!("{argument:?}") };
        visit(name, id, value);
    }
}

/// Those of the shells and of the ends of processes are the same with and without work.
#[test]
fn faults_and_switches_of_all_processes_are_those_that_the_kernel_counts() {
    if !super::can_trace() {
        return;
    }
    // The first one reads its files from the disk.
    record(0, 0);
    let (idle, without) = record(0, 0);
    let (busy, with) = record(PAGES, SLEEPS);
    for (name, expected) in
        [("page-faults", with[0] - without[0]), ("context-switches", with[1] - without[1])]
    {
        let counted = busy[name] - idle[name];
        let allowed = expected / 20 + 50;
        assert!(counted.abs_diff(expected) <= allowed, "{name}: {counted}, expected {expected}");
    }
    // A timer may end before its thread has left the CPU.
    assert!(with[1] - without[1] >= SLEEPS, "{with:?} {without:?}");
    assert!(busy["task-clock"] > idle["task-clock"]);
}

/// Each sleep of the program is a switch of one of the CPUs.
#[test]
fn counters_of_the_machine_are_those_of_its_cpus() {
    if !super::can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut command = trace(&["record", "--counters=context-switches", "--kernel-scope=machine"]);
    command.arg("-o").arg(&output).arg("--").arg(subject_path());
    command.args(["counted", "0", &SLEEPS.to_string()]);
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 0, "{run:?}");
    let mut ids = BTreeMap::new();
    each_counter(&output, |_, id, value| {
        ids.insert(id, value);
    });
    assert!(ids.values().sum::<u64>() >= SLEEPS / 2 && !ids.contains_key(&0), "{ids:?}");
}

#[test]
fn unknown_counters_and_rates_are_refused_before_the_command_runs() {
    let directory = tempfile::tempdir().unwrap();
    let (output, ran) = (directory.path().join("app.fxt"), directory.path().join("ran"));
    let refused = |option: &str| {
        let mut command = trace(&["record", option, "-o"]);
        let run = Run::of(command.arg(&output).args(["--", "touch"]).arg(&ran));
        assert_eq!((run.code(), output.exists(), ran.exists()), (2, false, false), "{run:?}");
        run.stderr()
    };
    let unknown = refused("--counters=page-faults,faults");
    assert!(unknown.contains("there is no counter faults"), "{unknown}");
    assert!(unknown.contains("the counters are task-clock, page-faults"), "{unknown}");
    if fs::exists("/proc/sys/kernel/perf_event_max_sample_rate").unwrap() {
        let rate = refused("--samples=4294967295");
        assert!(rate.contains("the kernel permits at most "), "{rate}");
    }
}

/// What happens in the kernel is not counted without permission, and never as 0.
#[test]
fn an_ordinary_user_gets_the_permitted_counters_and_the_remedy_for_the_others() {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let (true, Ok(2)) = (can_run(&NOBODY), paranoid.trim().parse::<i32>()) else {
        eprintln!("skipped: requires kernel.perf_event_paranoid 2, and other users");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = directory.path().join("trace");
    fs::copy(trace(&[]).get_program(), &program).unwrap();
    let output = directory.path().join("t.fxt");
    let mut command = Command::new(NOBODY[0]);
    command.args(&NOBODY[1..]).arg(&program).args(["record", "-o"]).arg(&output);
    command.args(["--counters", "page-faults,context-switches", "--", "true"]);
    command.env("TRACE_CONFIG", "").env("TMPDIR", directory.path());
    command.env_remove("XDG_RUNTIME_DIR");
    let run = Run::of(command.current_dir(directory.path()));
    assert!(run.stderr().contains("page-faults count user mode only"), "{run:?}");
    assert!(run.stderr().contains("cannot count context-switches"), "{run:?}");
    let values = last_values(&output);
    assert!(values["page-faults"] > 0 && !values.contains_key("context-switches"), "{values:?}");
}

/// A shell that runs a process for each line of its standard input.
struct Shell {
    process: Child,
    lines: BufReader<ChildStdout>,
}

impl Shell {
    /// Starts the shell, or a recorder that runs it.
    fn start(command: &mut Command) -> Self {
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = streams.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        let mut shell = Self { process, lines };
        assert_eq!(shell.line(), "ready");
        shell
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Touches pages in a process of its own.
    fn touch(&mut self, pages: u64) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{pages}").unwrap();
        // It prints its counts.
        assert!(!self.line().is_empty());
    }

    fn end(mut self) -> i32 {
        drop(self.process.stdin.take());
        self.process.wait().unwrap().code().unwrap()
    }
}

const SHELL: &str =
    r#"echo ready; while read pages; do "$0" counted $pages 0 </dev/null; done; true"#;

/// Pages beyond the faults of the starts of processes.
const MANY: u64 = 20_000;
const FEW: u64 = 5_000;

/// The helper reads the buffer of many events again and again.
#[test]
fn counters_are_not_read_more_often_beside_many_events() {
    if !super::can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut command = trace(&["record", "-c", "kernel:syscall", "--counters=page-faults", "-o"]);
    command.arg(&output).args(["--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1"]);
    let run = Run::of(command.args(["count=300000", "status=none"]));
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&output);
    let kernel = archive.only();
    let times: Vec<u64> = kernel.named("page-faults").map(|event| event.ticks).collect();
    // The first one is the start, and the last one the end.
    let between = times.get(1..times.len() - 1).unwrap_or_default();
    // A value that is late is followed by one in time, so a single pause may be short.
    if let [first, .., last] = between {
        let nanos = kernel.rate.to_nanos(last - first) / (between.len() as u64 - 1);
        assert!(nanos > 40_000_000, "{nanos} ns between two values");
    }
}

/// The count begins anew, and faults during the pause are not in it.
#[test]
fn counters_are_paused_and_resumed() {
    if !super::can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let command = |arguments: &[&str]| {
        let mut command = trace(arguments);
        command.env("XDG_RUNTIME_DIR", directory.path()).env_remove("TRACE_SOCKET");
        command
    };
    let mut record = command(&["record", "--counters=page-faults", "-o"]);
    record.arg(&output).args(["--", "sh", "-c", SHELL]).arg(subject_path());
    let mut shell = Shell::start(&mut record);
    shell.touch(MANY);
    assert!(command(&["pause"]).status().unwrap().success());
    shell.touch(MANY);
    assert!(command(&["resume"]).status().unwrap().success());
    let counts = |archive: &Path| -> Vec<u64> {
        let archive = Archive::read(archive);
        let kernels = archive.providers.iter().filter(|provider| provider.name == "kernel");
        let events = |it: &Provider| it.named("page-faults").last().map(|it| it.numbers["count"]);
        kernels.filter_map(events).collect()
    };
    let snapshot = directory.path().join("now.fxt");
    wait_until("the helper counts again", || {
        let written = command(&["snapshot", "-o"]).arg(&snapshot).status().unwrap().success();
        written && counts(&snapshot).len() == 2
    });
    shell.touch(FEW);
    assert_eq!(shell.end(), 0);
    let counts = counts(&output);
    let [before, after] = counts[..] else { panic!("{counts:?}") };
    assert!((MANY..MANY + FEW).contains(&before), "{counts:?}");
    assert!((FEW..2 * FEW).contains(&after), "{counts:?}");
}

/// A process that runs already, and those that it starts.
#[test]
fn counters_of_a_process_by_its_id() {
    if !super::can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut shell = Shell::start(Command::new("sh").args(["-c", SHELL]).arg(subject_path()));
    let mut other = Shell::start(Command::new("sh").args(["-c", SHELL]).arg(subject_path()));
    shell.touch(MANY);
    let scope = format!("--kernel-scope={}", shell.process.id());
    let mut record = trace(&["record", "--counters=page-faults", &scope, "-o"]);
    record.arg(&output).args(["--", "sh", "-c", "echo ready; read end; true"]);
    let recorder = Shell::start(&mut record);
    other.touch(MANY);
    shell.touch(FEW);
    assert_eq!([recorder.end(), shell.end(), other.end()], [0; 3]);
    let counted = last_values(&output)["page-faults"];
    assert!((FEW..2 * FEW).contains(&counted), "{counted}");
}
