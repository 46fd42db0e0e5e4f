//! `trace insn`: recording, printing, and what happens to the traced program.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../../trace-insntrace/tests/common/required.rs"]
mod required;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use required::lacks;
use rustix::process::{kill_process, Pid, Signal};
use tempfile::TempDir;

fn trace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trace"));
    command.args(arguments).env("TRACE_CONFIG", "").stdin(Stdio::null());
    command
}

#[track_caller]
fn run(arguments: &[&str], code: i32) -> Output {
    let output = trace(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A directory for recordings.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the number of instructions that a message reports.
fn instructions(output: &Output) -> usize {
    let text = text(&output.stderr);
    let line = text.lines().find(|line| line.contains(" instructions ")).expect(&text);
    line.split(' ').find_map(|word| word.parse().ok()).unwrap()
}

#[test]
fn a_recording_is_printed_in_every_format() {
    let place = Place::new();
    let directory = &*place.name("recording");
    let recorded = run(&["insn", "record", "-o", directory, "--", "/bin/echo", "hello"], 0);
    assert_eq!(text(&recorded.stdout), "hello\n");
    let expected = ["insn.cpuid", "insn.ptlist", "insn.side.fxt", "insn.thr0.pt"];
    assert_eq!(files(&place.path("recording")), expected);
    let list = std::fs::read_to_string(place.path("recording/insn.ptlist")).unwrap();
    assert_eq!(list, "0 insn.thr0.pt\n");
    let number = instructions(&recorded);
    assert!(number > 1000);

    let print = |format| run(&["insn", "print", directory, "--format", format], 0);
    let lines = |output: &Output, not: &str| {
        let text = text(&output.stdout);
        text.lines().filter(|line| !line.contains(not)).count()
    };
    assert_eq!(lines(&print("insns"), "#"), number);
    assert_eq!(lines(&print("raw"), "#"), number);
    assert!(text(&print("packets").stdout).contains(" tip.pge 3: 00007f"));
    let folded = text(&print("folded").stdout);
    let counts = folded.lines().map(|line| line.rsplit(' ').next().unwrap());
    assert_eq!(counts.map(|count| count.parse::<usize>().unwrap()).sum::<usize>(), number);

    let calls = text(&print("calls").stdout);
    let (enter, leave) = (lines(&print("calls"), "}") - 1, calls.matches(" }\n").count());
    assert!(enter > 10 && leave > 10, "{enter} {leave}");
    let chrome: serde_json::Value = serde_json::from_slice(&print("chrome").stdout).unwrap();
    assert!(chrome["traceEvents"].as_array().unwrap().len() > 20);

    let archive = &*place.name("calls.fxt");
    run(&["insn", "print", directory, "--format", "fxt", "-o", archive], 0);
    run(&["check", archive], 0);
    assert!(text(&run(&["stats", archive], 0).stdout).contains("[kernel]"));
    let dump = run(&["dump", &place.name("recording/insn.side.fxt")], 0);
    assert!(text(&dump.stdout).contains("/bin/echo"));
}

#[test]
fn blocks_of_a_shell_and_its_children_are_recorded() {
    let place = Place::new();
    let directory = &*place.name("recording");
    let script = "i=0; while [ $i -lt 20 ]; do i=$((i + 1)); done; (exit 3) || echo $i | cat";
    let options = ["insn", "record", "--engine", "block", "-o", directory, "--", "/bin/sh", "-c"];
    let recorded = run(&[&options[..], &[script]].concat(), 0);
    assert_eq!(text(&recorded.stdout), "20\n");
    let number = instructions(&recorded);
    // The exit status is 3 if packets and code disagree.
    let folded = text(&run(&["insn", "print", directory, "--format", "folded"], 0).stdout);
    let counts = folded.lines().map(|line| line.rsplit(' ').next().unwrap());
    assert_eq!(counts.map(|count| count.parse::<usize>().unwrap()).sum::<usize>(), number);
}

#[test]
fn a_file_of_perf_is_written_and_read() {
    let place = Place::new();
    let directory = &*place.name("recording");
    run(&["insn", "record", "-o", directory, "--", "/bin/echo"], 0);
    let file = &*place.name("perf.data");
    let print = |from, format| run(&["insn", "print", from, "--format", format], 0);
    let refused = run(&["insn", "print", directory, "--format", "perf"], 1);
    assert!(text(&refused.stderr).contains("\nhint: -o perf.data"));
    run(&["insn", "print", directory, "--format", "perf", "-o", file], 0);
    assert_eq!(instructions(&print(file, "raw")), instructions(&print(directory, "raw")));
    assert_eq!(print(file, "folded").stdout, print(directory, "folded").stdout);
    std::fs::write(file, "no").unwrap();
    assert!(text(&run(&["insn", "print", file], 1).stderr).contains("not a file of perf"));
}

#[test]
fn missing_hardware_is_reported_with_the_reason() {
    if Path::new("/sys/bus/event_source/devices/intel_pt").exists() {
        return eprintln!("skipped: this machine has Intel PT");
    }
    let place = Place::new();
    let directory = &*place.name("recording");
    let arguments = ["insn", "record", "--engine", "hardware", "-o", directory, "--", "/bin/echo"];
    let refused = run(&arguments, 125);
    let message = text(&refused.stderr);
    assert!(message.contains("cannot trace by hardware: "), "{message}");
    assert!(message.contains("hint: --engine step traces on any processor"), "{message}");
    assert!(refused.stdout.is_empty() && !place.path("recording").exists());
    let of_cpus = [&arguments[..4], &["--mode", "cpu"], &arguments[4..]].concat();
    assert!(text(&run(&of_cpus, 125).stderr).contains("cannot trace by hardware: "));

    let socket = place.path("manager.sock");
    let init =
        trace(&["insn", "init", "--engine", "hardware"]).env("TRACE_SOCKET", socket).output();
    let init = init.unwrap();
    assert_eq!(init.status.code(), Some(1), "{init:?}");
    assert!(text(&init.stderr).contains("cannot trace by hardware: "), "{init:?}");
    let doctor = text(&trace(&["doctor"]).output().unwrap().stdout);
    let line = doctor.lines().find(|line| line.contains(" instructions ")).unwrap();
    assert!(line.starts_with("limited") && line.contains("Intel PT"), "{doctor}");
    assert!(doctor.contains("--engine block"), "{doctor}");
}

#[test]
fn cpus_are_traced_by_hardware_only() {
    let place = Place::new();
    let directory = &*place.name("recording");
    let arguments = ["insn", "record", "--mode", "cpu", "-o", directory, "--", "/bin/echo"];
    let message = text(&run(&arguments, 125).stderr);
    assert!(message.contains("--mode cpu requires --engine hardware"), "{message}");
    assert!(!place.path("recording").exists());
}

#[test]
fn what_the_processor_cannot_do_is_refused() {
    let place = Place::new();
    let directory = &*place.name("recording");
    for (options, reason) in [
        (&["--mode", "cpu", "--range", "main"][..], "--mode cpu has no --range"),
        (&["--mode", "cpu", "--attach", "1"], "--mode cpu records all processes"),
        (&["--budget", "7"], "has no --function, --in-scope and --budget"),
        (&["--snapshot", "function:main"], "has no --snapshot function:SYMBOL"),
    ] {
        let arguments = ["insn", "record", "--engine", "hardware", "-o", directory];
        let is_attached = options.contains(&"--attach");
        let command: &[_] = if is_attached { &[] } else { &["--", "/bin/echo"] };
        let refused = run(&[&arguments, options, command].concat(), 125);
        let message = text(&refused.stderr);
        assert!(message.contains(reason) && message.contains("hint: "), "{message}");
        assert!(!place.path("recording").exists());
    }
}

#[test]
fn damaged_packets_are_reported_with_their_offset() {
    let place = Place::new();
    let directory = &*place.name("recording");
    run(&["insn", "record", "-o", directory, "--budget", "20000", "--", "/bin/echo", "x"], 0);
    let path = place.path("recording/insn.thr0.pt");
    let mut packets = std::fs::read(&path).unwrap();
    packets[200..260].fill(0xff);
    std::fs::write(&path, packets).unwrap();
    let printed = run(&["insn", "print", directory], 3);
    assert!(text(&printed.stdout).contains("error: offset 0x"));
    assert!(text(&printed.stderr).contains("do not agree"));
    let archive = &*place.name("calls.fxt");
    run(&["insn", "print", directory, "--format", "fxt", "-o", archive], 3);
    assert!(text(&run(&["dump", archive], 0).stdout).contains("desynchronized"));
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    let place = Place::new();
    let record = |name: &str, rest: &[&str], code| {
        let path = place.name(name);
        let arguments = [&["insn", "record", "-o", &path], rest].concat();
        text(&run(&arguments, code).stderr)
    };
    let budget = record("a", &["--budget", "1000", "--", "/bin/sh", "-c", "exit 4"], 4);
    assert!(budget.contains("the budget is used up"), "{budget}");
    record("b", &["--budget", "1000", "--", "/bin/sh", "-c", "kill -9 $$"], 128 + 9);
    assert!(record("c", &["--", "/missing"], 127).contains("cannot run /missing"));
    assert!(!place.path("c").exists());
    let missing = record("d", &["--attach", "4194305"], 125);
    assert!(missing.contains("cannot trace process 4194305: no such process"), "{missing}");
    assert!(record("a", &["--", "/bin/true"], 125).contains("cannot record in"));
    assert!(record("e", &[], 2).contains("--attach"));
}

#[test]
fn a_program_continues_to_its_end_if_recording_fails() {
    for engine in ["step", "block"] {
        let place = Place::new();
        std::fs::create_dir(place.path("recording")).unwrap();
        // The file of the first thread cannot be created.
        std::fs::write(place.path("recording/insn.thr0.pt"), "").unwrap();
        let output = std::fs::File::create(place.path("output")).unwrap();
        let directory = &*place.name("recording");
        let program = ["--", "/bin/sh", "-c", "echo one; sleep 1; echo two; exit 4"];
        let arguments = ["insn", "record", "--engine", engine, "-o", directory];
        let mut recorder = trace(&[&arguments[..], &program].concat());
        let recorder = recorder.stdout(output).stderr(Stdio::piped()).spawn().unwrap();
        let recorded = recorder.wait_with_output().unwrap();
        assert_eq!(recorded.status.code(), Some(125), "{recorded:?}");
        assert!(text(&recorded.stderr).contains("cannot record in"), "{recorded:?}");
        let output = std::fs::read_to_string(place.path("output")).unwrap();
        assert_eq!(output, "one\ntwo\n", "the program has ended");
    }
}

#[test]
fn a_killed_engine_is_a_failure_to_record() {
    let place = Place::new();
    let directory = place.name("recording");
    let mut recorder = trace(&["insn", "record", "-o", &directory, "--", "/bin/cat"]);
    let mut recorder = recorder.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| place.path("recording/insn.thr0.pt").exists());
    kill_process(child_of(&recorder), Signal::Kill).unwrap();
    drop(recorder.stdin.take());
    let recorded = recorder.wait_with_output().unwrap();
    assert_eq!(recorded.status.code(), Some(125), "{recorded:?}");
    assert!(text(&recorded.stderr).contains("was killed by signal 9"), "{recorded:?}");
}

#[test]
fn only_calls_of_a_function_are_recorded() {
    let place = Place::new();
    let record = |name: &str, options: &[&str], code| {
        let directory = place.name(name);
        let start = ["insn", "record", "-o", &directory];
        let program = ["--", "/bin/sh", "-c", "echo one; echo two"];
        text(&run(&[&start[..], options, &program].concat(), code).stderr)
    };
    let all = record("all", &["--function", "write"], 0);
    assert!(all.contains("2 calls of write"), "{all}");
    let print = ["insn", "print", &place.name("all"), "--format", "calls"];
    let calls = text(&run(&print, 0).stdout);
    assert_eq!(calls.matches(" write").count(), 2, "{calls}");
    let second = record("second", &["--function", "write", "--nth", "2"], 0);
    assert!(second.contains("call 2 of write was recorded"), "{second}");
    let missing = record("missing", &["--function", "no_such_function"], 0);
    assert!(missing.contains("no process has had a function no_such_function"), "{missing}");
    let indirect = record("indirect", &["--function", "strlen"], 0);
    assert!(indirect.contains("strlen only chooses another function"), "{indirect}");
    for part in [["--function", "write"], ["--in-scope", "web/request"]] {
        let block = record("block", &[&["--engine", "block"], &part[..]].concat(), 125);
        let (reason, lines) = ("--function and --in-scope require --engine step", block.lines());
        assert!(block.contains(reason) && lines.count() == 2, "{block}");
        assert!(!place.path("block").exists());
    }
    assert!(record("nth", &["--nth", "2"], 2).contains("--function"));
}

#[test]
fn a_program_without_scopes_is_reported_by_its_name() {
    let place = Place::new();
    let directory = place.name("recording");
    let options = ["insn", "record", "--in-scope", "web/request", "-o", &directory];
    let recorded = text(&run(&[&options[..], &["/bin/true"]].concat(), 0).stderr);
    assert!(recorded.contains("neither /bin/true nor its children are traced"), "{recorded}");
    assert!(recorded.contains("no program has the scope web/request\n"), "{recorded}");
    assert!(!recorded.contains("the trigger"), "{recorded}");
}

#[test]
fn a_signal_before_the_program_starts_ends_the_command() {
    use std::os::unix::process::ExitStatusExt;
    for delay in 0..20 {
        let place = Place::new();
        let directory = place.name("recording");
        let mut recorder = trace(&["insn", "record", "-o", &directory, "--", "/bin/true"]);
        let recorder = recorder.stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(delay));
        kill_process(Pid::from_child(&recorder), Signal::Int).unwrap();
        let recorded = recorder.wait_with_output().unwrap();
        let message = text(&recorded.stderr);
        match (recorded.status.code(), recorded.status.signal()) {
            (Some(130), _) => assert!(message.contains("interrupted by signal 2"), "{message}"),
            // The program is released.
            (Some(0), _) => {}
            // The command itself has not begun.
            (None, Some(2)) => assert_eq!(message, ""),
            _ => panic!("{recorded:?}"),
        }
    }
}

#[test]
fn a_recording_that_has_failed_or_is_cut_is_incomplete() {
    let place = Place::new();
    let limited = place.name("limited");
    let script = "ulimit -f 20; exec \"$@\"";
    let recorded = Command::new("/bin/sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_trace"), "insn", "record"])
        .args(["--engine", "block", "-o", &limited, "--", "/bin/ls", "-l", "/"])
        .env("TRACE_CONFIG", "")
        .output()
        .unwrap();
    assert_eq!(recorded.status.code(), Some(125), "{recorded:?}");
    let printed = run(&["insn", "print", &limited], 3);
    assert!(text(&printed.stderr).contains("limited is incomplete\n"), "{printed:?}");

    let cut = place.name("cut");
    run(&["insn", "record", "-o", &cut, "--budget", "2000", "--", "/bin/true"], 0);
    let print = ["insn", "print", &cut];
    run(&print, 0);
    let side = place.path("cut/insn.side.fxt");
    let side = std::fs::File::options().write(true).open(side).unwrap();
    side.set_len(side.metadata().unwrap().len() - 8).unwrap();
    assert!(text(&run(&print, 3).stderr).contains("cut is incomplete\n"));
}

#[test]
fn a_range_that_no_process_has_is_reported() {
    let place = Place::new();
    let record = |name: &str, range: &str| {
        let directory = place.name(name);
        let options = ["insn", "record", "-o", &directory, "--range", range, "--", "/bin/true"];
        text(&run(&options, 0).stderr)
    };
    let missing = record("missing", "no_such_function");
    assert!(missing.contains("no process has had a function no_such_function"), "{missing}");
    let known = record("known", "exit");
    assert!(!known.contains("no process"), "{known}");
    assert!(record("indirect", "strlen").contains("strlen only chooses another function"));
}

#[test]
fn a_snapshot_has_the_instructions_before_a_call() {
    let place = Place::new();
    let directory = place.name("recording");
    let options = ["insn", "record", "--snapshot", "function:write", "-o", &directory];
    let program = ["--", "/bin/sh", "-c", "echo one; echo two"];
    let recorded = run(&[&options[..], &program].concat(), 0);
    assert_eq!(text(&recorded.stdout), "one\ntwo\n");
    assert!(text(&recorded.stderr).contains("1 snapshot"), "{recorded:?}");
    assert_eq!(files(&place.path("recording")), ["snapshot-1"]);
    let snapshot = place.name("recording/snapshot-1");
    let printed = text(&run(&["insn", "print", &snapshot, "--format", "insns"], 0).stdout);
    let instructions: Vec<_> = printed.lines().filter(|line| !line.contains('#')).collect();
    let last = instructions.last().unwrap();
    assert!(last.contains(" write+0x0 ") && instructions.len() > 1000, "{last}");
}

#[test]
fn a_directory_with_an_earlier_recording_is_refused_before_the_program_starts() {
    let place = Place::new();
    let directory = place.name("recording");
    let whole: &[&str] = &[];
    let request = ["--snapshot", "request"];
    let alert = ["--snapshot", "alert:slow"];
    let scope = ["--in-scope", "web/request"];
    for (earlier, options) in [
        ("snapshot-2", &request[..]),
        ("snapshot-2", &alert),
        ("insn.side.fxt", whole),
        ("insn.side.fxt", &scope),
        ("insn.side.fxt", &alert),
        ("snapshot-1", whole),
        ("snapshot-1", &scope),
    ] {
        std::fs::create_dir_all(place.path("recording").join(earlier)).unwrap();
        let program = ["-o", &directory, "--", "/bin/sh", "-c", "echo one"];
        let refused = run(&[&["insn", "record"], options, &program].concat(), 125);
        assert_eq!(text(&refused.stdout), "", "{options:?}");
        let message = text(&refused.stderr);
        assert!(message.contains("recording: it has a recording"), "{options:?}: {message}");
        assert_eq!(files(&place.path("recording")), [earlier], "{options:?}");
        std::fs::remove_dir_all(place.path("recording")).unwrap();
    }
}

#[test]
fn a_signal_requests_a_snapshot() {
    let place = Place::new();
    let mut child = target();
    let (directory, pid) = (place.name("recording"), child.id().to_string());
    let arguments = ["insn", "record", "--snapshot", "request", "--ring", "16", "-o", &directory];
    let mut recorder = trace(&arguments).args(["--attach", &pid]).spawn().unwrap();
    wait_until(|| tracer_of(&child) != "0");
    let snapshot = place.path("recording/snapshot-1/insn.side.fxt");
    kill_process(Pid::from_child(&recorder), Signal::Usr1).unwrap();
    // The program executes instructions for each line.
    let mut input = child.stdin.take().unwrap();
    wait_until(|| input.write_all(b"x\n").is_ok() && snapshot.exists());
    kill_process(Pid::from_child(&recorder), Signal::Int).unwrap();
    recorder.wait().unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(6));
    let printed = run(&["insn", "print", &place.name("recording/snapshot-1")], 0);
    assert!(!printed.stdout.is_empty());
}

#[test]
fn a_signal_for_the_program_reaches_it_in_a_session() {
    let place = Place::new();
    let directory = place.name("recording");
    let script = "trap 'exit 7' USR2; echo x; while read -r line; do :; done; exit 6";
    let mut recorder = trace(&["insn", "record", "--in-scope", "web/request", "-o", &directory])
        .args(["--", "/bin/sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    recorder.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    kill_process(Pid::from_child(&recorder), Signal::Usr2).unwrap();
    // The shell handles the signal after a line at the latest.
    let mut input = recorder.stdin.take().unwrap();
    wait_until(|| {
        let _ended = input.write_all(b"x\n");
        recorder.try_wait().unwrap().is_some()
    });
    assert_eq!(recorder.wait().unwrap().code(), Some(7));
}

#[test]
fn a_program_that_is_not_readable_runs_untraced() {
    use std::os::unix::fs::{chown, PermissionsExt};
    if !rustix::process::getuid().is_root() {
        return lacks("root, to run the program as another user");
    }
    const NOBODY: &str = "65534";
    let place = Place::new();
    chown(place.0.path(), Some(65534), Some(65534)).unwrap();
    let executable = |from: &str, name: &str, mode| {
        std::fs::copy(from, place.path(name)).unwrap();
        std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(mode)).unwrap();
        place.name(name)
    };
    let unread = executable("/bin/true", "unread", 0o711);
    let trace = executable(env!("CARGO_BIN_EXE_trace"), "trace", 0o755);
    let script = format!("{unread}; echo status $?");
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", &trace, "insn", "record"])
        .args(["-o", &place.name("recording"), "--", "/bin/sh", "-c", &script])
        .output()
        .unwrap();
    let errors = text(&output.stderr);
    assert_eq!(text(&output.stdout), "status 0\n", "{errors}");
    let reason = "1 thread could not be traced, and continued untraced: permission denied\n";
    assert!(errors.contains(reason), "{errors}");
    assert_eq!(output.status.code(), Some(0));
}

/// Starts a program that runs until its input ends.
fn target() -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo x; while read -r line; do :; done; exit 6"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    child
}

#[test]
fn an_engine_whose_command_has_ended_before_it_traces_nothing() {
    let place = Place::new();
    let directory = &*place.name("recording");
    let arguments = ["insn", "engine", "--parent", "4194305", "-o", directory, "--", "/bin/echo"];
    let ended = run(&arguments, 125);
    assert!(text(&ended.stderr).contains("has ended"), "{ended:?}");
    assert!(ended.stdout.is_empty() && !place.path("recording").exists());
}

/// Returns the only child of a process.
fn child_of(parent: &Child) -> Pid {
    let parent = format!("PPid:\t{}\n", parent.id());
    let processes = std::fs::read_dir("/proc").unwrap();
    let is_child = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
        status.is_ok_and(|status| status.contains(&parent))
    };
    let pids = processes.filter_map(|it| it.unwrap().file_name().to_str()?.parse().ok());
    Pid::from_raw(pids.into_iter().find(is_child).unwrap()).unwrap()
}

fn tracer_of(child: &Child) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    line.unwrap().trim().to_owned()
}

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not hold after ten minutes.
#[track_caller]
fn wait_until(mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(600), "waited in vain");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_that_runs_continues_when_the_recorder_ends_or_is_killed() {
    // The program calls `read` again when its input ends.
    let options = [["--engine", "step"], ["--engine", "block"], ["--function", "read"]];
    let cases = options.map(|option| [(option, Signal::Int), (option, Signal::Kill)]);
    for (option, signal) in cases.into_iter().flatten() {
        let place = Place::new();
        let mut child = target();
        let (directory, pid) = (place.name("recording"), child.id().to_string());
        let arguments = ["insn", "record", "-o", &directory, "--attach", &pid];
        let mut recorder = trace(&arguments).args(option).stderr(Stdio::null()).spawn().unwrap();
        wait_until(|| tracer_of(&child) != "0");
        kill_process(Pid::from_child(&recorder), signal).unwrap();
        recorder.wait().unwrap();
        wait_until(|| tracer_of(&child) == "0");
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(6), "{option:?} {signal:?}");
    }
}
