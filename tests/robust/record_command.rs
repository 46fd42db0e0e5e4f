//! `trace record` and its command: exit codes, signals, duration and messages.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{kill_process, Pid, Signal};
use trace_format::{Reader, Record};

use crate::harness::{record, trace, Archive, Run};

/// Runs `trace record` of a role with options.
fn run(options: &[&str], role: &[&str]) -> (Run, Option<Archive>) {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let run = Run::of(&mut record(options, &output, role));
    let archive = output.exists().then(|| Archive::read(&output));
    (run, archive)
}

#[test]
fn the_exit_code_is_the_commands() {
    assert_eq!(run(&[], &["end", "exit"]).0.code(), 7);
    assert_eq!(run(&[], &["end", "abort"]).0.code(), 128 + 6);
    assert_eq!(run(&["--strict"], &["end", "exit"]).0.code(), 7, "the command's own comes first");
    let directory = tempfile::tempdir().unwrap();
    let code =
        |command: &str| Run::of(trace(&["record", "--", command]).current_dir(&directory)).code();
    assert_eq!(code("./not-there"), 127);
    assert_eq!(code("/"), 126);
    let left: Vec<_> = std::fs::read_dir(&directory).unwrap().collect();
    assert!(left.is_empty(), "no archive is left: {left:?}");
}

#[test]
fn strict_reports_losses_and_empty_recordings() {
    assert_eq!(run(&["--strict"], &["end", "return"]).0.code(), 0);
    assert_eq!(run(&["--strict"], &["untraced"]).0.code(), 3);
    assert_eq!(run(&[], &["untraced"]).0.code(), 0);
    assert_eq!(run(&["--strict", "-c", "end,nobody"], &["end", "return"]).0.code(), 3);
    let (lossy, archive) = run(&["--strict", "-m", "oneshot", "-b", "4096"], &["burst", "10000"]);
    assert_eq!(lossy.code(), 3, "{lossy:?}");
    let archive = archive.unwrap();
    assert_eq!(archive.only().numbers("instant").len() as u64 + archive.only().lost(), 10_000);
    assert_eq!(archive.only().lost.keys().collect::<Vec<_>>(), ["buffer full"]);
    assert!(lossy.stderr().contains("lost"), "{lossy:?}");
}

/// Such an archive has no malformed record, and may have no open duration.
#[test]
fn an_archive_that_was_cut_between_two_records_ends_early() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    Run::of(&mut record(&[], &output, &["end", "return"]));
    let archive = fs::read(&output).unwrap();
    let check = |bytes: &[u8]| {
        let cut = directory.path().join("cut.fxt");
        fs::write(&cut, bytes).unwrap();
        Run::of(trace(&["check"]).arg(cut))
    };
    assert_eq!(check(&archive).code(), 0);
    let mut reader = Reader::new(&*archive);
    let (mut ends, mut opened) = (Vec::new(), None);
    while let Some(item) = reader.next().unwrap() {
        let is_anchor = match item.record {
            Record::Event(event) => item.text(event.name) == "clock anchor",
            _ => false,
        };
        let end = reader.offset() as usize;
        opened = opened.or(is_anchor.then_some(end));
        ends.push(end);
    }
    ends.retain(|end| opened.is_some_and(|opened| *end >= opened) && *end < archive.len());
    assert!(ends.len() > 2, "{ends:?}");
    for end in ends {
        let run = check(&archive[..end]);
        assert_eq!(run.code(), 3, "{run:?}");
        assert!(run.stdout().contains("the archive ends early"), "{run:?}");
    }
}

#[test]
fn an_unknown_compression_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt.xz");
    let run = Run::of(&mut record(&[], &output, &["end", "return"]));
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains("unknown compression .xz") && !output.exists(), "{run:?}");
}

#[test]
fn a_program_without_tracing_is_reported() {
    let (run, archive) = run(&[], &["untraced"]);
    assert!(run.stderr().contains("trace_runtime::init()"), "{run:?}");
    assert!(archive.unwrap().providers.is_empty());
}

#[test]
fn a_guard_that_is_dropped_at_once_is_reported() {
    let (run, archive) = run(&[], &["drop-guard"]);
    assert!(archive.unwrap().only().events.is_empty(), "{run:?}");
    assert!(run.stderr().contains("while subject was traced, for "), "{run:?}");
    assert!(run.stderr().contains("hint: keep the guard of init()"), "{run:?}");
    assert!(!run.stderr().contains("before init()"), "{run:?}");
}

#[test]
fn a_scope_that_begins_before_init_is_reported() {
    let (run, archive) = run(&[], &["late-init"]);
    assert!(archive.unwrap().only().events.is_empty(), "{run:?}");
    assert!(run.stderr().contains("hint: a scope that begins before init()"), "{run:?}");
    assert!(!run.stderr().contains("the guard"), "{run:?}");
}

#[test]
fn a_program_whose_tracing_is_compiled_out_is_reported_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let mark = String::from_utf8(trace_protocol::ntrace::mark()).unwrap();
    fs::write(&program, format!("#!/bin/sh\n# {mark}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = Run::of(trace(&["record", "--", "./program"]).current_dir(&directory));
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("without the feature ntrace"), "{run:?}");
}

#[test]
fn a_category_without_events_is_reported_with_the_known_ones() {
    let (run, archive) = run(&["-c", "end,nobody*,-end.noise"], &["end", "return"]);
    assert_eq!(archive.unwrap().only().events.len(), 2);
    assert!(run.stderr().contains("nobody*") && run.stderr().contains("chatter"), "{run:?}");
    let (run, archive) = self::run(&["-c", "-end"], &["end", "return"]);
    assert!(archive.unwrap().only().events.is_empty());
    assert!(run.stderr().contains("nothing was recorded"), "{run:?}");
}

#[test]
fn the_summary_is_json_if_asked_for() {
    let (run, _) = run(&["--json"], &["end", "return"]);
    let json = run.stdout();
    assert!(json.trim_start().starts_with('{') && json.trim_end().ends_with('}'), "{json}");
    assert!(json.contains("\"events\": 2") && json.contains("\"lost\": 0"), "{json}");
}

#[test]
fn recording_ends_after_the_duration_and_the_command_with_it() {
    let (run, archive) = run(&["-d", "300ms"], &["until-signal"]);
    assert_eq!(run.code(), 0, "{run:?}");
    // A program that starts slowly may have no records by then.
    assert!(archive.unwrap().providers.len() <= 1);
}

/// Starts a role under `trace record`, waits until it is ready, and sends a signal to the recorder.
fn signal(role: &str, signal: Signal) -> (Run, Archive) {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let mut command = record(&[], &output, &[role]);
    let mut child: Child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    kill_process(Pid::from_child(&child), signal).unwrap();
    let run = Run::end_of(child);
    (run, Archive::read(&output))
}

#[test]
fn signals_reach_the_command_and_its_records_are_saved() {
    for (number, name) in [(Signal::Int, 2), (Signal::Term, 15), (Signal::Hup, 1)] {
        let (run, archive) = signal("until-signal", number);
        assert_eq!(run.code(), 128 + name, "{run:?}");
        assert_eq!(archive.only().count("before signal"), 1);
    }
}

#[test]
fn a_command_that_handles_a_signal_selects_the_exit_code() {
    for number in [Signal::Int, Signal::Term] {
        let (run, archive) = signal("handle-signal", number);
        assert_eq!(run.code(), 42, "{run:?}");
        assert_eq!(archive.only().count("after signal"), 1);
    }
}

/// As under `nohup`, and in the background of a script.
#[test]
fn a_command_ignores_the_signals_that_the_caller_ignores() {
    const SIGNALS: u64 = 0b111;
    let directory = tempfile::tempdir().unwrap();
    let show = "grep SigIgn: /proc/self/status";
    // The second one would end a recorder that handles it.
    let hang_up = "kill -HUP $PPID; sleep 0.2";
    let command = format!("{show}; {hang_up}; {hang_up}; exit 7");
    let mut record = trace(&["record", "-o"]);
    record.arg(directory.path().join("out.fxt")).args(["--", "sh", "-c", &command]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP INT QUIT; exec \"$@\"", "sh"]);
    let run = Run::of(shell.arg(record.get_program()).args(record.get_args()));
    assert_eq!(run.code(), 7, "a signal that is ignored does not end it: {run:?}");
    let set = run.stdout().trim().trim_start_matches("SigIgn:").trim().to_owned();
    assert_eq!(u64::from_str_radix(&set, 16).unwrap() & SIGNALS, SIGNALS, "{set}");
}

#[test]
fn the_archive_goes_into_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = record(&[], "-".as_ref(), &["burst", "5000"]);
    let run = Run::of(command.current_dir(&directory));
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let archive = Archive::parse(&run.0.stdout);
    assert_eq!(archive.only().numbers("instant"), Vec::from_iter(0..5000));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "no file is called '-'");
}

#[test]
fn a_closed_pipe_does_not_harm_the_command() {
    let mut command = record(&[], "-".as_ref(), &["burst", "100000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let run = Run::end_of(child);
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains("archive"), "{run:?}");
}

/// A command that never ran must not replace an older archive.
#[test]
fn a_command_that_is_not_found_keeps_an_older_archive() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    std::fs::write(&output, "older").unwrap();
    let options = ["record", "-o", output.to_str().unwrap(), "--", "./not-there"];
    assert_eq!(Run::of(&mut trace(&options)).code(), 127);
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "older");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "and no file beside it");
}

/// A program chooses its name, which may contain control sequences of a terminal.
#[test]
fn names_of_programs_are_escaped_for_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("\u{1b}[2J\n\u{202e}\u{9b}");
    std::fs::copy(crate::harness::subject_path(), &program).unwrap();
    let output = directory.path().join("out.fxt");
    let mut command = trace(&["record", "-o"]);
    let run = Run::of(command.arg(&output).arg("--").arg(&program).args(["end", "return"]));
    assert_eq!(run.code(), 0, "{run:?}");
    let summary = run.stderr();
    assert!(summary.contains(r"\u{1b}[2J\n\u{202e}"), "{summary}");
    for command in ["check", "dump", "stats"] {
        let mut trace = trace(&[command]);
        if command == "stats" {
            trace.arg("--by").arg("process");
        }
        let run = Run::of(trace.arg(&output));
        let said = format!("{}{}{summary}", run.stdout(), run.stderr());
        let is_dangerous = |it: &char| it.is_control() && *it != '\n' || matches!(it, '\u{202e}');
        assert_eq!(said.chars().find(is_dangerous), None, "{command}: {said:?}");
    }
}
