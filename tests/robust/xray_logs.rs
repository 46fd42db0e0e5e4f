//! `trace record --format xray`: a log and a map for each process.

mod killed;
mod min_duration;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use trace_format::{EventKind, Record, Value};
use trace_xray::calls::{CallStacks, Step};
use trace_xray::fxt::record_of_payload;
use trace_xray::layout::Action;
use trace_xray::map::{Map, Names};
use trace_xray::read::Ordered;

use crate::harness::{record, subject, subject_path, trace, Archive, Run, MODES};
use crate::llvm_tools;

/// The content of a log.
#[derive(Debug, Default)]
struct Log {
    /// The completed calls of each function.
    calls: BTreeMap<String, u64>,
    /// The entries of each function.
    entries: BTreeMap<String, u64>,
    /// The call arguments of each function.
    arguments: BTreeMap<String, u64>,
    /// The instants of each name.
    instants: BTreeMap<String, u64>,
    /// Records that the program dropped, as reported in the log.
    dropped: u64,
    processes: Vec<Option<i32>>,
}

impl Log {
    fn read(path: &Path) -> Self {
        let map = fs::read(path.with_extension("map")).unwrap();
        let mut names = Names::new(Map::parse(&map).unwrap());
        let mut reader = Ordered::new(File::open(path).unwrap()).unwrap();
        let (mut log, mut stacks, mut last) = (Self::default(), CallStacks::default(), None);
        while let Some(item) = reader.next().unwrap() {
            match item.record {
                trace_xray::Record::Function(record) => {
                    log.processes.push(item.buffer.process);
                    if matches!(record.action, Action::Entry | Action::EntryArgs) {
                        let name = names.get(record.function).to_string();
                        *log.entries.entry(name).or_default() += 1;
                    }
                    if record.action == Action::EntryArgs {
                        last = Some(names.get(record.function).to_string());
                    }
                    if let Some(Step::Left(ended)) = stacks.step(&item) {
                        for call in ended {
                            *log.calls.entry(names.get(call.function).to_string()).or_default() +=
                                1;
                        }
                    }
                }
                trace_xray::Record::CallArgument { .. } => {
                    *log.arguments.entry(last.clone().unwrap()).or_default() += 1;
                }
                trace_xray::Record::CustomEvent(event) => log.event(event.payload),
                _ => {}
            }
        }
        log.processes.dedup();
        log
    }

    fn event(&mut self, payload: &[u8]) {
        let Some(Record::Event(event)) = record_of_payload(payload) else { return };
        let EventKind::Instant { .. } = event.kind else { return };
        let name = text(event.name);
        if name == "records dropped" {
            let numbers = event.arguments.iter().filter(|argument| text(argument.name) == "number");
            self.dropped += numbers
                .filter_map(|argument| match argument.value {
                    Value::Uint64(number) => Some(number),
                    _ => None,
                })
                .sum::<u64>();
        }
        *self.instants.entry(name).or_default() += 1;
    }
}

fn text(text: trace_format::Text<'_>) -> String {
    match text {
        trace_format::Text::Inline(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("expected an inline string, found {other:?}"),
    }
}

/// Returns the logs of a directory. It has nothing else but their maps.
fn logs(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (logs, maps): (Vec<_>, Vec<_>) =
        entries.partition(|path| path.extension().is_some_and(|extension| extension == "xray"));
    let mut of_logs: Vec<_> = logs.iter().map(|log| log.with_extension("map")).collect();
    let mut maps = maps;
    of_logs.sort();
    maps.sort();
    assert_eq!(maps, of_logs);
    logs
}

fn recorded(options: &[&str], role: &[&str]) -> (tempfile::TempDir, Run) {
    let directory = tempfile::tempdir().unwrap();
    let options = [&["--format", "xray"], options].concat();
    let run = Run::of(&mut record(&options, &directory.path().join("logs"), role));
    assert_eq!(run.code(), 0, "{run:?}");
    (directory, run)
}

#[test]
fn each_mode_records_calls_arguments_and_events() {
    for mode in MODES {
        let (directory, run) = recorded(&["-m", mode], &["crowd", "30", "4"]);
        let [path] = &logs(&directory.path().join("logs"))[..] else { panic!("{mode}: {run:?}") };
        let name = path.file_stem().unwrap().to_str().unwrap();
        let pid: i32 = name.strip_prefix("subject-").expect(name).parse().unwrap();
        let log = Log::read(path);
        assert_eq!(log.calls, [("life".to_owned(), 30)].into(), "{mode}");
        assert_eq!(log.arguments, [("life".to_owned(), 60)].into(), "{mode}");
        assert_eq!((log.instants["first"], log.instants["second"]), (30, 30), "{mode}");
        assert_eq!((log.processes, log.dropped), (vec![Some(pid)], 0), "{mode}");
        assert!(run.stderr().contains("30 calls and "), "{run:?}");
    }
}

/// The completed and all calls of a function, by the records of a log.
fn numbers_of(log: &Log, function: &str) -> [u64; 2] {
    let of = |calls: &BTreeMap<String, u64>| calls.get(function).copied().unwrap_or(0);
    [of(&log.calls), of(&log.entries)]
}

/// Functions without arguments have records of 8 bytes in the buffer.
#[test]
fn the_buffer_holds_a_call_in_16_bytes() {
    let (directory, run) = recorded(&["-m", "oneshot", "-b", "1M"], &["call", "200000"]);
    let [path] = &logs(&directory.path().join("logs"))[..] else { panic!("{run:?}") };
    let log = Log::read(path);
    let [calls, _] = numbers_of(&log, "called");
    let ends = log.calls.values().sum::<u64>();
    assert!(ends * 16 > 900 << 10, "{ends} calls in 1 MiB");
    assert!(calls.abs_diff(log.calls["inside"]) <= 1, "{:?}", log.calls);
    assert!(log.dropped > 0 || run.stderr().contains("because its buffer was full"), "{run:?}");
}

#[test]
fn each_mode_records_functions() {
    for mode in MODES {
        let (directory, run) = recorded(&["-m", mode, "-b", "1M"], &["call", "1000"]);
        let [path] = &logs(&directory.path().join("logs"))[..] else { panic!("{run:?}") };
        let log = Log::read(path);
        let calls = [("called".to_owned(), 1000), ("inside".to_owned(), 1000)];
        assert_eq!(log.calls, calls.into(), "{mode}");
    }
}

/// Circular mode keeps the newest calls. Those whose entries are gone are left out.
#[test]
fn a_circular_log_has_the_last_calls() {
    let (directory, run) = recorded(&["-m", "circular", "-b", "256K"], &["call", "100000"]);
    let [path] = &logs(&directory.path().join("logs"))[..] else { panic!("{run:?}") };
    let log = Log::read(path);
    let ([outer, entries], [inner, _]) = (numbers_of(&log, "called"), numbers_of(&log, "inside"));
    assert!((1000..100_000).contains(&outer), "{outer}");
    assert!(outer.abs_diff(inner) <= 1 && entries == outer, "{outer} {inner} {entries}");
}

/// A process that traces itself leaves a hidden archive.
#[test]
fn processes_that_trace_themselves_have_logs() {
    for mode in MODES {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("logs");
        let run = Run::of(
            subject(&["call", "1000"])
                .env("TRACE_OUTPUT", &output)
                .env("TRACE_FORMAT", "xray")
                .env("TRACE_BUFFERING_MODE", mode),
        );
        let hint = format!("`trace recover {}` makes an XRay log", output.display());
        assert!(run.code() == 0 && run.stderr().contains(&hint), "{run:?}");
        let stats = Run::of(trace(&["stats"]).arg(&output));
        let hint = format!("hint: trace recover {} ", output.display());
        assert!(stats.code() == 1 && stats.stderr().contains(&hint), "{stats:?}");
        let hidden = fs::read_dir(&output).unwrap().next().unwrap().unwrap().path();
        let recovered = if mode == MODES[0] { &hidden } else { &output };
        let recover = Run::of(trace(&["recover"]).arg(recovered));
        assert_eq!(recover.code(), 0, "{recover:?}");
        let [path] = &logs(&output)[..] else { panic!("{recover:?}") };
        let calls = [("called".to_owned(), 1000), ("inside".to_owned(), 1000)];
        assert_eq!(Log::read(path).calls, calls.into(), "{mode}");
    }
}

/// Function records have ticks of the CPU's counter only.
#[test]
fn calls_have_the_clock_that_the_program_chooses() {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let directory = tempfile::tempdir().unwrap();
    let begin = now();
    let mut program = subject(&["call", "1000"]);
    program.env("TRACE_OUTPUT", directory.path()).env("TRACE_FORMAT", "xray");
    let run = Run::of(program.env("TRACE_CLOCK", "boottime"));
    assert_eq!(run.code(), 0, "{run:?}");
    let [archive] = &fs::read_dir(directory.path()).unwrap().collect::<Vec<_>>()[..] else {
        panic!("{run:?}")
    };
    let archive = Archive::read(&archive.as_ref().unwrap().path());
    let calls: Vec<u64> = archive.only().named("called").map(|event| event.ticks).collect();
    assert_eq!(calls.len(), 1000);
    assert!(calls.iter().all(|ticks| (begin..now()).contains(ticks)), "{calls:?}");
}

#[test]
fn losses_are_in_the_log_and_in_the_summary() {
    let (directory, run) = recorded(&["-m", "oneshot", "-b", "64K"], &["burst", "300000"]);
    let [path] = &logs(&directory.path().join("logs"))[..] else { panic!("{run:?}") };
    let log = Log::read(path);
    assert!(log.dropped > 0);
    assert_eq!(log.instants["instant"] + log.dropped, 300_000);
    assert!(run.stderr().contains("because its buffer was full"), "{run:?}");
}

#[test]
fn each_process_has_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("logs");
    let mut command = trace(&["record", "--format", "xray", "--json", "-o"]);
    let script = "\"$0\" burst 10 & \"$0\" crowd 5 2; wait";
    command.arg(&output).args(["--", "sh", "-c", script]).arg(subject_path());
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 0, "{run:?}");
    let paths = logs(&output);
    let logs: Vec<_> = paths.iter().map(|path| Log::read(path)).collect();
    let calls: Vec<_> = logs.iter().filter_map(|log| log.calls.get("life")).collect();
    let bursts: Vec<_> = logs.iter().filter_map(|log| log.instants.get("instant")).collect();
    assert_eq!((logs.len(), calls, bursts), (2, vec![&5], vec![&10]));
    let summary: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(summary["logs"].as_array().unwrap().len(), 2);
    // The next recording keeps these logs.
    assert_eq!(Run::of(&mut record(&["--format", "xray"], &output, &["burst", "1"])).code(), 0);
    assert_eq!(self::logs(&output).len(), 3);
}

#[test]
fn wrong_options_and_outputs_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "x").unwrap();
    for (options, output, reason) in [
        (&["--format", "xray"][..], "logs.fxt", "is the name of a file"),
        (&["--format", "xray"], "logs.xray", "is the name of a file"),
        (&["--format", "xray"], "file", "is not a directory"),
        (&["--format", "xray"], "missing/logs", "cannot create the directory"),
        (&["--format", "xray", "--rotate", "1M"], "logs", "--rotate cannot be used"),
        (&["--format", "xray", "--trigger", "a:snapshot"], "logs", "a --trigger with a snapshot"),
        (&["--min-duration", "5us"], "a.fxt", "--min-duration requires --format xray"),
        (&["--log-version", "1"], "a.fxt", "--log-version requires --format xray"),
    ] {
        let run = Run::of(&mut record(options, &directory.path().join(output), &["burst", "1"]));
        assert_eq!(run.code(), 125, "{run:?}");
        assert!(run.stderr().contains(reason), "{run:?}");
    }
    let mut names: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(names.remove(0).unwrap().file_name(), "file");
}

#[test]
fn a_recording_without_records_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("logs");
    let mut command = trace(&["record", "--format", "xray", "-o"]);
    let run = Run::of(command.arg(&output).args(["--", "true"]));
    assert!(run.code() == 0 && run.stderr().contains("nothing was recorded"), "{run:?}");
    assert!(!output.exists());
    let recover = Run::of(trace(&["recover"]).arg(directory.path()));
    assert!(recover.code() == 1 && recover.stderr().contains("no recording"), "{recover:?}");
}

/// A directory has the name of the log.
#[test]
fn the_archive_is_kept_if_a_log_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("logs");
    let mut command = trace(&["record", "--format", "xray", "-o"]);
    let script = "mkdir \"$1/subject-$$.xray\"; exec \"$0\" burst 10";
    command.arg(&output).args(["--", "sh", "-c", script]).arg(subject_path()).arg(&output);
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 125, "{run:?}");
    assert!(run.stderr().contains("the archive is kept as "), "{run:?}");
    let mut names = fs::read_dir(&output).unwrap().map(|entry| entry.unwrap().path());
    let kept = names.find(|path| path.extension().is_some_and(|extension| extension == "fxt"));
    let kept = kept.unwrap();
    assert!(run.stderr().contains(&format!("trace view {}", kept.display())), "{run:?}");
    assert_eq!(Run::of(trace(&["check"]).arg(kept)).code(), 0);
}

/// One of two archives is damaged.
#[test]
fn recovery_continues_after_an_archive_that_cannot_be_read() {
    let (directory, _run) = recorded(&[], &["burst", "10"]);
    let logs = directory.path().join("logs");
    let left = |pid: u32| logs.join(format!(".recording-{pid}.fxt"));
    fs::write(left(1), "no archive").unwrap();
    let archive = Run::of(&mut record(&[], &left(2), &["burst", "10"]));
    assert_eq!(archive.code(), 0, "{archive:?}");
    let run = Run::of(trace(&["recover"]).arg(&logs));
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains(".recording-1.fxt: cannot read the archive"), "{run:?}");
    assert!(run.stderr().contains(".xray is recovered"), "{run:?}");
    assert!(left(1).exists() && !left(2).exists());
}

/// The versions that recordings write for LLVM's tools.
const VERSIONS: [&str; 2] = ["1", "5"];

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn llvm_reads_logs() {
    for (mode, version) in MODES.into_iter().flat_map(|mode| VERSIONS.map(|it| (mode, it))) {
        for (role, calls) in [
            (["crowd", "1", "8"], &[("life", 1)][..]),
            (["crowd", "40", "8"], &[("life", 40)]),
            // Function records.
            (["call", "1000", ""], &[("called", 1000), ("inside", 1000)]),
        ] {
            let role: Vec<_> = role.into_iter().filter(|argument| !argument.is_empty()).collect();
            let (directory, run) = recorded(&["-m", mode, "--log-version", version], &role);
            let [log] = &logs(&directory.path().join("logs"))[..] else { panic!("{run:?}") };
            let case = format!("{mode}, version {version}, {role:?}");
            llvm_tools::check_calls(log, &calls.iter().copied().collect(), &case);
        }
    }
}

/// A daemon writes archives only.
#[test]
fn sessions_of_a_daemon_have_no_logs() {
    let directory = tempfile::tempdir().unwrap();
    let mut start = trace(&["start", "--format", "xray", "-o"]);
    let run = Run::of(start.arg(directory.path().join("logs")));
    assert_eq!(run.code(), 1, "{run:?}");
    let expected = "--format xray cannot be used with a session of the daemon\nhint: record";
    assert!(run.stderr().contains(expected), "{run:?}");
    assert!(!directory.path().join("logs").exists());
}

/// The hint for `--rotate`: each part of an archive becomes a log, and no call is missing.
#[test]
fn parts_of_an_archive_become_logs() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("app.fxt");
    let options = ["--rotate", "1M", "-b", "2M"];
    let run = Run::of(&mut record(&options, &archive, &["call", "500000"]));
    assert_eq!(run.code(), 0, "{run:?}");
    let (mut entries, mut dropped, mut parts) = (0, 0, 0);
    while directory.path().join(format!("app.{}.fxt", parts + 1)).exists() {
        parts += 1;
        let part = directory.path().join(format!("app.{parts}.fxt"));
        let log = part.with_extension("xray");
        let mut convert = trace(&["convert"]);
        let run = Run::of(convert.arg(&part).arg("-o").arg(&log));
        assert_eq!(run.code(), 0, "{run:?}");
        let log = Log::read(&log);
        entries += log.entries["called"] + log.entries["inside"];
        dropped += log.dropped;
    }
    assert!(parts > 1, "{run:?}");
    assert!(entries <= 1_000_000 && entries + dropped >= 1_000_000, "{entries}, {dropped}");
}

/// A version that the option names, and the default one.
#[test]
fn logs_have_the_version_of_the_option() {
    for (options, version) in
        [(&["--log-version", "1"][..], 1), (&["--log-version", "3"], 3), (&[], 5)]
    {
        let (directory, run) = recorded(options, &["call", "100"]);
        let [path] = &logs(&directory.path().join("logs"))[..] else { panic!("{run:?}") };
        assert_eq!(fs::read(path).unwrap()[..2], [version, 0]);
        let log = Log::read(path);
        assert_eq!((log.calls["called"], log.calls["inside"]), (100, 100));
    }
}
