//! The process that records the kernel's events: what it selects, loses and leaves behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::harness::{subject_path, trace, wait_until, Archive, Provider, Run, MODES};
use super::schedule::{steps, Step};
use super::{can_trace, record, TRACEFS};

/// Returns the instances of a process.
pub(super) fn instances(pid: u64) -> Vec<String> {
    let entries = fs::read_dir(Path::new(TRACEFS).join("instances")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(&format!("trace-{pid}-"))).collect()
}

/// Returns the helper of a recorder.
fn helper_of(recorder: &Child) -> Option<u64> {
    let parent = format!("PPid:\t{}\n", recorder.id());
    let is_helper = |pid: &u64| {
        let read = |file| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let has = |file, text: &str| String::from_utf8_lossy(&read(file)).contains(text);
        has("cmdline", "kernel-helper") && has("status", &parent)
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(is_helper)
}

#[test]
fn one_archive_has_the_application_and_its_schedule() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    record(&output, &["--sched"], &["burst", "100"]);
    let archive = Archive::read(&output);
    let provider = |name: &str| archive.providers.iter().find(|it| it.name == name).unwrap();
    let (subject, kernel) = (provider("subject"), provider("kernel"));
    assert_eq!(subject.count("instant"), 100);
    assert_eq!(subject.rate, kernel.rate);
    let exec = kernel.named("exec").find(|event| event.process == subject.pid).unwrap();
    assert!(exec.texts["file"].ends_with("/subject"), "{exec:?}");
    assert!(kernel.thread_names[&subject.pid].contains(&"subject".to_owned()));
    assert!(instances(kernel.pid).is_empty());
}

/// Two processes outside of the command wake each other up.
#[test]
fn only_the_command_is_recorded_by_default() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut writer = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
    let pipe = writer.stdout.take().unwrap();
    let mut reader = Command::new("cat").stdin(pipe).stdout(Stdio::null()).spawn().unwrap();
    let (yes, cat) = (u64::from(writer.id()), u64::from(reader.id()));
    let wakeups = |scope: &[&str]| {
        record(&output, &[&["-c", "kernel:sched"], scope].concat(), &["scheduled", ""]);
        let steps = steps(&fs::read(&output).unwrap());
        let of_noise = steps.get(&yes).into_iter().flatten();
        of_noise.filter(|(_, step)| matches!(step, Step::Woken { by, .. } if *by == cat)).count()
    };
    let command = wakeups(&[]);
    let machine = wakeups(&["--kernel-scope", "machine"]);
    let process = wakeups(&["--kernel-scope", &yes.to_string()]);
    for noise in [&mut reader, &mut writer] {
        noise.kill().unwrap();
        noise.wait().unwrap();
    }
    assert_eq!(command, 0);
    assert!(machine > 0 && process > 0, "{machine} {process}");
}

#[test]
fn single_events_have_their_fields() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let category = "kernel:event:sched/sched_process_exec";
    record(&output, &["-c", &format!("{category},kernel:syscall")], &["untraced"]);
    let archive = Archive::read(&output);
    let kernel = archive.only();
    let event = kernel.named("sched_process_exec").next().unwrap();
    assert_eq!(event.category, category);
    assert!(event.texts["filename"].ends_with("/subject"), "{event:?}");
    let calls = kernel.events.iter().filter(|event| event.category == "kernel:syscall");
    assert!(calls.count() > 20);
}

#[test]
fn unknown_events_are_reported() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let run = record(&output, &["-c", "*,kernel:event:sched/none"], &["burst", "10"]);
    assert!(run.stderr().contains("the kernel has no event sched/none"), "{run:?}");
    assert!(run.stderr().contains("hint: the kernel's events are in"), "{run:?}");
    assert_eq!(Archive::read(&output).only().count("instant"), 10);
}

/// A buffer of a few pages, and more events between two rounds.
#[test]
fn events_that_the_kernel_dropped_are_reported() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut command = trace(&["record", "--strict", "-c", "kernel:syscall", "--kernel-buffer"]);
    command.args(["8K", "-o"]).arg(&output).arg("--");
    command.args(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=200000", "status=none"]);
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stderr().contains("the kernel dropped at least"), "{run:?}");
    assert!(run.stderr().contains("hint: use a larger buffer (--kernel-buffer)"), "{run:?}");
    let archive = Archive::read(&output);
    let calls = archive.only().events.iter().filter(|it| it.category == "kernel:syscall");
    assert!(calls.count() > 0, "what was not dropped is recorded");
    let losses = &archive.only().losses;
    assert!(!losses.is_empty());
    for loss in losses {
        assert!(loss.texts["reason"].starts_with("kernel buffer full"), "{loss:?}");
        assert!(loss.numbers["from"] <= loss.numbers["to"], "{loss:?}");
        let cpus = &archive.only().thread_names[&loss.thread];
        assert!(cpus[0].starts_with("CPU "), "{cpus:?}");
    }
}

/// Starts a recording of a program that runs until its standard input ends, and waits for its
/// helper.
pub(super) fn start(output: &Path, options: &[&str]) -> (Child, u64) {
    let mut command = trace(&["record", "-o"]);
    command.arg(output).args(options).arg("--").arg(subject_path()).arg("idle");
    let recorder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut recorder = recorder.spawn().unwrap();
    // The program starts when the helper records.
    let mut line = String::new();
    BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let helper = helper_of(&recorder).expect("the recorder has a helper");
    assert_eq!(instances(helper).len(), 1);
    (recorder, helper)
}

pub(super) fn kill(pid: u64) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::Kill).unwrap();
}

/// Returns whether a process has ended. Its parent may not have waited for it yet.
pub(super) fn has_ended(pid: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn a_helper_that_a_signal_ends_is_reported() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let (recorder, helper) = start(&output, &["--sched"]);
    let pid = rustix::process::Pid::from_raw(helper as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::Term).unwrap();
    wait_until("the helper has ended", || has_ended(helper));
    let run = Run::end_of(recorder);
    assert!(run.stderr().contains("a signal ends the process trace-kernel"), "{run:?}");
    assert_reports_end(&output);
}

/// Asserts that an archive reports that the helper ended early.
fn assert_reports_end(archive: &Path) {
    let run = Run::of(trace(&["check"]).arg(archive));
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stdout().contains("helpers ended early"), "{run:?}");
    let run = Run::of(trace(&["stats"]).arg(archive));
    let reported = run.stdout() + &run.stderr();
    assert!(reported.contains("helpers ended early"), "{run:?}");
}

/// Helpers end before the session does, and the last records are those of their end.
#[test]
fn an_archive_with_a_helper_that_was_ended_is_complete() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let categories = ["-c", "kernel:sched,kernel:tasks"];
    let run = record(&output, &categories, &["untraced"]);
    assert!(!run.stderr().contains("missing"), "{run:?}");
    let run = Run::of(trace(&["check"]).arg(&output));
    assert_eq!(run.code(), 0, "{run:?}");
}

#[test]
fn the_next_start_removes_the_instance_of_a_killed_helper() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut recorder, helper) = start(&directory.path().join("killed.fxt"), &["--sched"]);
    kill(helper);
    kill(u64::from(recorder.id()));
    recorder.wait().unwrap();
    wait_until("the helper has ended", || has_ended(helper));
    let foreign = Path::new(TRACEFS).join(format!("instances/test-{helper}"));
    fs::create_dir(&foreign).unwrap();
    record(&directory.path().join("next.fxt"), &["--sched"], &["burst", "1"]);
    assert!(instances(helper).is_empty());
    fs::remove_dir(foreign).expect("the instance of another program is not removed");
}

#[test]
fn the_recording_continues_without_a_killed_helper() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let (recorder, helper) = start(&output, &["--sched"]);
    kill(helper);
    wait_until("the helper has ended", || has_ended(helper));
    // The program ends with its standard input.
    let run = Run::end_of(recorder);
    assert!(run.stderr().contains("later events of the kernel are missing"), "{run:?}");
    assert!(!run.stderr().contains("no event of category"), "{run:?}");
    assert_reports_end(&output);
    let archive = Archive::read(&output);
    assert!(archive.providers.iter().any(|provider| provider.name == "subject"));
    for instance in instances(helper) {
        // The helper of another test may remove it first.
        let _gone = fs::remove_dir(Path::new(TRACEFS).join("instances").join(instance));
    }
}

#[test]
fn the_helper_of_a_killed_recorder_removes_its_instance() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut recorder, helper) = start(&directory.path().join("killed.fxt"), &["--sched"]);
    kill(u64::from(recorder.id()));
    recorder.wait().unwrap();
    wait_until("the instance is removed", || instances(helper).is_empty());
}

/// The helper records again, into its second buffer.
#[test]
fn a_recording_of_the_kernel_is_paused_and_resumed() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let command = |arguments: &[&str]| {
        let mut command = trace(arguments);
        command.env("XDG_RUNTIME_DIR", directory.path()).env_remove("TRACE_SOCKET");
        command
    };
    let mut record = command(&["record", "--sched", "-o"]);
    record.arg(&output).arg("--").arg(subject_path()).arg("chatter");
    let streams = record.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut recorder = streams.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(recorder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    wait_until("the recording is paused", || command(&["pause"]).status().unwrap().success());
    assert!(command(&["resume"]).status().unwrap().success());
    let snapshot = directory.path().join("now.fxt");
    let kernel = |archive: &Archive| {
        let providers = archive.providers.iter().filter(|it| it.name == "kernel");
        let switches = |it: &Provider| it.other_records.get("context switch").copied().unwrap_or(0);
        providers.map(|it| (it.interruptions.len(), switches(it))).collect::<Vec<_>>()
    };
    wait_until("the helper records again", || {
        let written = command(&["snapshot", "-o"]).arg(&snapshot).status().unwrap().success();
        let counts = if written { kernel(&Archive::read(&snapshot)) } else { Vec::new() };
        matches!(counts[..], [(0, _), (1, 1..)])
    });
    drop(recorder.stdin.take());
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(!run.stderr().contains("did not answer"), "{run:?}");
    assert!(matches!(kernel(&Archive::read(&output))[..], [(0, _), (1, 1..)]));
}

/// A helper that is killed while the recording is paused has lost nothing before the resume.
#[test]
fn a_helper_that_is_killed_during_a_pause_is_reported() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let command = |arguments: &[&str]| {
        let mut command = trace(arguments);
        command.env("XDG_RUNTIME_DIR", directory.path()).env_remove("TRACE_SOCKET");
        command
    };
    let mut record = command(&["record", "--sched", "-o"]);
    record.arg(&output).arg("--").arg(subject_path()).arg("idle");
    let streams = record.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut recorder = streams.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(recorder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let helper = helper_of(&recorder).expect("the recorder has a helper");
    wait_until("the recording is paused", || command(&["pause"]).status().unwrap().success());
    kill(helper);
    wait_until("the helper has ended", || has_ended(helper));
    // The manager notes the end before the resume: both have the same loop.
    assert!(command(&["resume"]).status().unwrap().success());
    drop(recorder.stdin.take());
    let run = Run::end_of(recorder);
    assert!(run.stderr().contains("later events of the kernel are missing"), "{run:?}");
    assert_reports_end(&output);
    for instance in instances(helper) {
        let _gone = fs::remove_dir(Path::new(TRACEFS).join("instances").join(instance));
    }
}

/// Others cannot end a recording by its instance.
#[test]
fn the_instance_of_a_recording_cannot_be_removed() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (recorder, helper) = start(&directory.path().join("t.fxt"), &["--sched"]);
    let instance = Path::new(TRACEFS).join("instances").join(&instances(helper)[0]);
    let refused = fs::remove_dir(instance).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ResourceBusy);
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(!run.stderr().contains("missing") && instances(helper).is_empty(), "{run:?}");
}

#[test]
fn all_modes_have_the_switches_and_the_names_of_threads() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    for mode in MODES {
        record(&output, &["--sched", "--mode", mode], &["burst", "100"]);
        let archive = Archive::read(&output);
        let provider = |name: &str| archive.providers.iter().find(|it| it.name == name).unwrap();
        let (subject, kernel) = (provider("subject"), provider("kernel"));
        assert!(kernel.other_records["context switch"] > 0, "{mode}");
        let names = &kernel.thread_names[&subject.pid];
        assert!(names.contains(&"subject".to_owned()), "{mode}: {names:?}");
    }
}

/// Records into a new archive, with a command that creates a file. Returns whether it ran.
fn record_and_touch(arguments: &[&str]) -> (Run, bool) {
    let directory = tempfile::tempdir().unwrap();
    let ran = directory.path().join("ran");
    let mut command = trace(&["record"]);
    command.args(arguments).arg("-o").arg(directory.path().join("t.fxt"));
    let run = Run::of(command.args(["--", "touch"]).arg(&ran));
    (run, ran.exists())
}

#[test]
fn a_recording_of_what_does_not_exist_fails_before_the_command_runs() {
    if !can_trace() {
        return;
    }
    // No process has a larger id.
    for arguments in [
        ["-c", "kernel:event:sched/none"].as_slice(),
        &["-c", "kernel:sched", "--kernel-buffer", "1000G"],
        &["--sched", "--kernel-scope", "4194305"],
    ] {
        let (run, has_run) = record_and_touch(arguments);
        assert_eq!((run.code(), has_run), (125, false), "{run:?}");
        assert!(!run.stderr().contains("trace-runtime"), "{run:?}");
    }
}

/// The program can be recorded, and its own trace points may be what counts.
#[test]
fn other_events_are_recorded_if_those_of_the_kernel_cannot_be() {
    if !can_trace() {
        return;
    }
    let (run, has_run) = record_and_touch(&["--sched", "--kernel-buffer", "1000G"]);
    assert_eq!((run.code(), has_run), (0, true), "{run:?}");
    assert!(run.stderr().contains("cannot trace the kernel"), "{run:?}");
    assert!(!run.stderr().contains("trace-runtime"), "{run:?}");
}

#[test]
fn a_summary_has_the_records_that_are_no_events() {
    if !can_trace() {
        return;
    }
    let (run, _) = record_and_touch(&["-c", "kernel:sched"]);
    assert!(run.stderr().contains(" scheduling records in "), "{run:?}");
    assert!(run.stderr().contains("open it with trace view"), "{run:?}");
    assert!(!run.stderr().contains("no event of category"), "{run:?}");
}

#[test]
fn a_process_that_sleeps_is_the_reason_for_an_empty_recording() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut sleeping = Command::new("sleep").arg("infinity").spawn().unwrap();
    let scope = format!("--kernel-scope={}", sleeping.id());
    let mut record = trace(&["record", "-c", "kernel:tasks", &scope, "-d", "0.1s", "-o"]);
    let run = Run::of(record.arg(directory.path().join("t.fxt")));
    sleeping.kill().unwrap();
    sleeping.wait().unwrap();
    let expected = "nothing was recorded: no selected thread had an event of the kernel";
    assert!(run.stderr().contains(expected) && run.code() == 0, "{run:?}");
}
