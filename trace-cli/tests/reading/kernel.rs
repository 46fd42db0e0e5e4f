//! Recordings of trace-cmd as inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use trace_format::layout::{ObjectType, ThreadState};
use trace_format::{
    Argument, ContextSwitch, Event, EventKind, KernelObject, Thread, ThreadKoids, Value, Writer,
};

use crate::harness::{good, Place, Run};

/// Returns the path of a file of `trace-kernel`'s tests.
fn file(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-kernel/tests/trace-cmd");
    directory.join(name).into_os_string().into_string().unwrap()
}

#[test]
fn all_records_of_a_recording() {
    let report = std::fs::read(file("report.txt")).unwrap();
    let report = String::from_utf8_lossy(&report);
    let place = Place::new();
    let mut dumps = Vec::new();
    for name in ["v6.dat", "v7-zstd.dat"] {
        let converted = place.run(&["convert", &file(name), "-o", "kernel.fxt"]);
        assert_eq!((converted.code, &*converted.stderr), (0, ""), "{converted:?}");
        let check = place.run(&["check", "kernel.fxt"]);
        assert!(!check.stderr.contains("damage"), "{check:?}");
        dumps.push(place.run(&["dump", "kernel.fxt"]).stdout);
        let direct = place.run(&["dump", &file(name)]);
        assert_eq!(Some(&direct.stdout), dumps.last());
    }
    assert_eq!(dumps[0], dumps[1]);
    let events = |name: &str| report.matches(&format!(" {name}: ")).count();
    let records = |text: &str| dumps[0].matches(text).count();
    assert_eq!(records(" context-switch "), events("sched_switch"));
    // A thread that is woken without `sched_waking` is woken by its creation.
    let wakeups = events("sched_waking") + events("sched_wakeup_new");
    assert!((events("sched_waking")..=wakeups).contains(&records(" thread-wakeup ")));
    assert_eq!(records("\"atrace\" \"marker\" thread {\"text\": \"marker\"}"), 1);
    let others = records("\"kernel:event:sched/sched_stat_runtime\" \"sched_stat_runtime\" ");
    assert_eq!(others, events("sched_stat_runtime"));
}

#[test]
fn system_calls_have_statistics() {
    let place = Place::new();
    let stats = place.run(&["stats", &file("v7-zstd.dat")]);
    assert_eq!(stats.code, 0, "{stats:?}");
    // The sleeping system call, clock_nanosleep, of two processes.
    assert!(stats.stdout.contains("syscall 230"), "{stats:?}");
}

#[test]
fn a_truncated_recording() {
    let place = Place::new();
    let whole = std::fs::read(file("v6.dat")).unwrap();
    place.put("cut.dat", &whole[..whole.len() / 3]);
    for command in [&["stats", "cut.dat"][..], &["convert", "cut.dat", "-o", "out.fxt"]] {
        let run = place.run(command);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains("cannot read cut.dat: the file is truncated"), "{run:?}");
    }
    assert_eq!(place.names(), ["cut.dat"]);
}

/// Returns the path of a recording of perf.
fn perf_file(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-kernel/tests/perf");
    directory.join(name).into_os_string().into_string().unwrap()
}

#[test]
fn recordings_of_perf() {
    let place = Place::new();
    let (file, pipe) = (perf_file("switches.data"), perf_file("pipe.data"));
    let converted = place.run(&["convert", &file, "-o", "perf.fxt"]);
    assert_eq!((converted.code, &*converted.stderr), (0, ""), "{converted:?}");
    let dumped = place.run(&["dump", "perf.fxt"]).stdout;
    assert_eq!(place.run(&["dump", &file]).stdout, dumped);
    let printed = std::fs::read_to_string(perf_file("switches.samples")).unwrap();
    let samples = printed.lines().filter(|line| line.starts_with("sample ")).count();
    assert_eq!(dumped.matches(" backtrace ").count(), samples);
    let sched = place.run(&["stats", "--sched", &file]);
    assert!(sched.code == 0 && sched.stdout.contains("file_search"), "{sched:?}");
    let folded = place.run(&["convert", "--samples", "--to", "folded", "-o", "-", &file]);
    let number = |line: &str| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap();
    assert_eq!(folded.stdout.lines().map(number).sum::<usize>(), samples, "{folded:?}");
    let piped = std::fs::File::open(&pipe).unwrap();
    let piped = place.command(&["dump", "-"]).stdin(piped).output().unwrap();
    assert_eq!(Run::of(piped).stdout, place.run(&["dump", &pipe]).stdout);
    let compressed = zstd::encode_all(&*std::fs::read(&file).unwrap(), 1).unwrap();
    place.put("perf.data.zst", &compressed);
    assert_eq!(place.run(&["dump", "perf.data.zst"]).stdout, dumped);
}

#[test]
fn a_truncated_recording_of_perf() {
    let place = Place::new();
    let whole = std::fs::read(perf_file("clock.data")).unwrap();
    place.put("cut.data", &whole[..whole.len() / 3]);
    for command in [&["stats", "cut.data"][..], &["convert", "cut.data", "-o", "out.fxt"]] {
        let run = place.run(command);
        assert_eq!(run.code, 1, "{run:?}");
        let parts = ["cannot read cut.data: ", ": the file is truncated"];
        assert!(parts.iter().all(|part| run.stderr.contains(part)), "{run:?}");
    }
    place.put("old.data", b"PERFFILE");
    let run = place.run(&["stats", "old.data"]);
    assert!(run.code == 1 && run.stderr.contains("\nhint: record with a newer perf"), "{run:?}");
    assert_eq!(place.names(), ["cut.data", "old.data"]);
}

#[test]
fn no_place_for_the_temporary_file() {
    let place = Place::new();
    let mut process = place.command(&["convert", &file("v6.dat"), "-o", "out.fxt"]);
    let run = Run::of(process.env("TMPDIR", "/missing").output().unwrap());
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("a temporary file in /missing"), "{run:?}");
}

/// Thread 7 waits for a CPU while 8 runs, then blocks, and is woken up by an interrupt.
pub(crate) const SCHEDULE: &str = "\
           a-7     [000] d..2.   10.000000: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120
           a-7     [000] d..2.   10.001000: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
           b-8     [000] d..2.   10.004000: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a next_pid=7 next_prio=120
           a-7     [000] d..2.   10.005000: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
      <idle>-0     [000] d.h3.   10.006000: sched_waking: comm=a pid=7 prio=120 target_cpu=000
      <idle>-0     [000] d..2.   10.006500: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
           a-7     [000] d..2.   10.008500: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn states_of_threads() {
    let place = Place::new();
    place.put("sched.txt", format!("# tracer: nop\n{SCHEDULE}").as_bytes());
    let run = place.run(&["stats", "--sched", "sched.txt"]);
    assert_eq!((run.code, &*run.stderr), (0, ""), "{run:?}");
    let expected = "\
threads
    RUN  RUNNABLE  BLOCKED  TURNS  PREEMPTED  THREAD
4.000ms   3.500ms  1.000ms      3          1  a (7)
3.000ms       0ns  5.500ms      2          0  b (8)

wake-up latencies
WAKE-UPS      P50      P90      P99    P99.9      MAX  THREAD
       1  500.0µs  500.0µs  500.0µs  500.0µs  500.0µs  a (7)
       1  500.0µs  500.0µs  500.0µs  500.0µs  500.0µs  all threads

preemptions
COUNT  OFF-CPU  THREAD  FIRST BY
    1  3.000ms  a (7)   b (8)
";
    assert_eq!(run.stdout, expected);
    let one = place.run(&["stats", "--sched", "-t", "b", "--json", "sched.txt"]);
    let one: serde_json::Value = serde_json::from_str(&one.stdout).unwrap();
    assert_eq!(one["threads"].as_array().unwrap().len(), 1);
    assert_eq!(one["threads"][0]["blocked_ns"], 5_500_000);
    let latency = &one["wakeup_latency"];
    assert_eq!(latency["count"], 0);
    assert!(latency["p99_ns"].is_null() && latency["max_ns"].is_null(), "{latency}");
}

/// A slice begins with the states that the threads have, and viewers and `check` accept it.
#[test]
fn states_in_a_slice() {
    let place = Place::new();
    place.put("sched.txt", format!("# tracer: nop\n{SCHEDULE}").as_bytes());
    let whole = place.run(&["convert", "sched.txt", "-o", "whole.fxt"]);
    assert_eq!(whole.code, 0, "{whole:?}");
    let slice = place.run(&["slice", "whole.fxt", "--from", "2ms", "--to", "5.5ms", "-o", "a.fxt"]);
    let said = "trace: 4 of 9 records kept\ntrace: from 0.002000000s to 0.005500000s; no \
                duration or operation overlaps the borders\n";
    assert_eq!((slice.code, slice.stderr.as_str()), (0, said));
    assert_eq!(place.run(&["check", "a.fxt"]).code, 0);
    let sums = place.run(&["stats", "--sched", "a.fxt"]);
    assert_eq!((sums.code, &*sums.stderr), (0, ""));
    let expected = "\
threads
    RUN  RUNNABLE  BLOCKED  TURNS  PREEMPTED  THREAD
2.000ms       0ns  1.000ms      1          0  b (8)
1.000ms   2.000ms      0ns      1          1  a (7)
";
    assert!(sums.stdout.starts_with(expected), "{}", sums.stdout);
    let [of_slice, of_whole] =
        ["a.fxt", "whole.fxt"].map(|name| place.run(&["stats", "--at", "@10.003s", name]).stdout);
    assert!(of_whole.contains("10.001000000s  10.004000000s  runnable, preempted, first by b (8)"));
    // The next wake-up is behind the slice.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (of_slice, _) = of_slice.split_once("the archive has no wake-ups ").unwrap();
    assert_eq!(words(of_slice), words(&of_whole.replace("10.006000000s by an interrupt", "")));
    place.run(&["convert", "a.fxt", "-o", "a.json"]);
    let switches = place.text("a.json").matches("sched_switch: ").count();
    assert_eq!(switches, 3, "no switch from a thread that did not run");
}

/// The switch from 8 to 7 is missing.
#[test]
fn check_and_info_show_what_scheduling_has() {
    let place = Place::new();
    let lines = SCHEDULE.lines().filter(|line| !line.contains("10.004000"));
    let lines: Vec<&str> = lines.collect();
    place.put("in.txt", format!("# tracer: nop\n{}\n", lines.join("\n")).as_bytes());
    let run = place.run(&["check", "in.txt"]);
    let missing = "2 context switches are not recorded, times around them are estimated";
    let head = "well-formed, no records dropped, but some context switches are not recorded\n";
    assert!(run.stdout.starts_with(head), "{run:?}");
    let line = format!("scheduling: 5 context switches, 1 wake-up; {missing}\n");
    assert!(run.stdout.contains(&line), "{run:?}");
    assert_eq!(run.code, 0);
    let json = place.run(&["check", "in.txt", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["kinds"]["missing_switches"], 2);
    let run = place.run(&["info", "in.txt"]);
    let line = format!("\n5 context switches and 1 wake-up of 2 threads\n{missing}\n");
    assert!(run.stdout.contains(&line), "{run:?}");
    let run = place.run(&["stats", "--sched", "in.txt"]);
    assert_eq!(run.stderr, format!("trace: in.txt: {missing}\n"));
    let without: Vec<&str> = lines.into_iter().filter(|line| !line.contains("waking")).collect();
    place.put("in.txt", format!("# tracer: nop\n{}\n", without.join("\n")).as_bytes());
    let run = place.run(&["check", "in.txt"]);
    assert!(run.stdout.contains("scheduling: 5 context switches, no wake-ups; 2"), "{run:?}");
    assert!(!place.run(&["check", "in.txt"]).stdout.contains("damage"));
}

#[test]
fn states_without_wakeups() {
    let place = Place::new();
    let lines = SCHEDULE.lines().filter(|line| !line.contains("sched_waking"));
    let schedule: Vec<&str> = lines.collect();
    place.put("sched.txt", format!("# tracer: nop\n{}\n", schedule.join("\n")).as_bytes());
    let run = place.run(&["stats", "--sched", "sched.txt"]);
    assert!(!run.stdout.contains("wake-up latencies"), "{run:?}");
    let note = "no wake-ups are recorded: BLOCKED includes the wait for a CPU after a wake-up\n";
    assert!(run.stdout.ends_with(note), "{run:?}");
}

#[test]
fn states_of_threads_are_the_same_in_all_formats() {
    let place = Place::new();
    place.put("sched.txt", format!("# tracer: nop\n{SCHEDULE}").as_bytes());
    for input in ["sched.txt".to_owned(), file("v6.dat")] {
        let converted = place.run(&["convert", &input, "-o", "out.fxt"]);
        assert_eq!(converted.code, 0, "{converted:?}");
        let states = |input: &str| place.run(&["stats", "--sched", "--json", input]).stdout;
        assert_eq!(states("out.fxt"), states(&input));
        assert!(states(&input).contains("\"run_ns\""));
        std::fs::remove_file(place.path("out.fxt")).unwrap();
    }
}

#[test]
fn a_dump_of_a_thread_has_its_switches() {
    let place = Place::new();
    place.put("sched.txt", format!("# tracer: nop\n{SCHEDULE}").as_bytes());
    place.run(&["convert", "sched.txt", "-o", "in.fxt"]);
    let lines = |options: &[&str]| {
        let run = place.run(&[&["dump", "in.fxt"], options].concat());
        let records = run.stdout.lines().filter(|line| line.contains("context-switch"));
        (records.count(), run.stdout.matches("wake").count())
    };
    assert_eq!((lines(&[]), lines(&["-t", "7"]), lines(&["-t", "8"])), ((6, 1), (6, 1), (3, 0)));
    assert_eq!(lines(&["-t", "7", "-c", "none"]), (0, 0));
}

#[test]
fn states_of_threads_are_sorted_by_each_column() {
    let place = Place::new();
    place.put("sched.txt", format!("# tracer: nop\n{SCHEDULE}").as_bytes());
    let threads = |options: &[&str]| -> Vec<u64> {
        let run = place.run(&[&["stats", "--sched", "--json", "sched.txt"], options].concat());
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let threads = json["threads"].as_array().unwrap().iter();
        threads.map(|times| times["thread"].as_u64().unwrap()).collect()
    };
    let first_by_a = ["run", "runnable", "turns", "switches", "preempted", "latency", "p50", "max"];
    for column in first_by_a.iter().chain(&["p99.9", "name"]) {
        assert_eq!(threads(&["--sort", column]), [7, 8], "{column}");
    }
    assert_eq!(threads(&["--sort", "blocked"]), [8, 7]);
    assert_eq!(threads(&["--sort", "blocked", "--limit", "1"]), [8], "the limit is of sorted rows");
    let refused = |arguments: &[&str]| {
        let run = place.run(&[&["stats", "sched.txt"], arguments].concat());
        assert_eq!((run.code, &*run.stdout), (2, ""), "{run:?}");
        run.stderr
    };
    let message = refused(&["--sort", "blocked"]);
    assert!(message.contains("blocked is no column of the table of durations"), "{message}");
    let message = refused(&["--sched", "--sort", "self"]);
    assert!(message.contains("self is no column of the table of threads"), "{message}");
}

/// A limit of the rows must not hide missing data.
#[test]
fn missing_switches_of_threads_without_a_row_count() {
    let place = Place::new();
    // The switch to 8 at 10.001 is missing.
    let lines = SCHEDULE.lines().enumerate().filter(|(line, _)| *line != 1);
    let schedule: Vec<&str> = lines.map(|(_, line)| line).collect();
    place.put("sched.txt", format!("# tracer: nop\n{}\n", schedule.join("\n")).as_bytes());
    let stats = |limit: &[&str]| {
        let run = place.run(&[&["stats", "--sched", "--json", "sched.txt"], limit].concat());
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        (json["missing_switches"].as_u64().unwrap(), json["complete"].clone(), run.stderr)
    };
    let all = stats(&[]);
    assert!(all.0 > 0 && all.1 == false, "{all:?}");
    assert_eq!(stats(&["--limit", "1"]), all);
    assert_eq!(stats(&["--limit", "0"]), all);
}

/// Returns an archive of a switch from thread 8 to thread 7. The threads of `partial` are outside
/// of the recorded processes.
fn switch(partial: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "kernel").unwrap();
    for koid in [7, 8] {
        let arguments = [Argument::new("partial", Value::Bool(partial.contains(&koid)))];
        let (object_type, name) = (ObjectType::THREAD, "a".into());
        let arguments = arguments[..].into();
        writer.record(&KernelObject { object_type, koid, name, arguments }.into()).unwrap();
    }
    let (ticks, cpu, arguments) = (1, 0, [][..].into());
    let (outgoing_state, outgoing_thread, incoming_thread) = (ThreadState::BLOCKED, 8, 7);
    let switch =
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments };
    writer.record(&switch.into()).unwrap();
    writer.into_inner()
}

#[test]
fn omitted_threads_are_counted() {
    let place = Place::new();
    let stats = |partial: &[u64]| {
        place.put("in.fxt", &switch(partial));
        let run = place.run(&["stats", "--sched", "in.fxt"]);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{run:?}");
        run.stdout
    };
    assert!(!stats(&[]).contains("omitted"));
    let one = stats(&[8]);
    assert!(one.starts_with("threads\n"), "{one}");
    assert!(one.ends_with("\n\n1 thread outside of the recorded processes is omitted\n"), "{one}");
    assert_eq!(stats(&[7, 8]), "2 threads outside of the recorded processes are omitted\n");
}

#[test]
fn states_of_threads_require_scheduling_records() {
    let place = Place::new();
    place.put("good.fxt", &crate::harness::good());
    let run = place.run(&["stats", "--sched", "good.fxt"]);
    assert_eq!((run.code, &*run.stdout), (0, "no scheduling records\n"), "{run:?}");
    assert!(run.stderr.contains("the archive has no scheduling records"), "{run:?}");
    let wrong = place.run(&["stats", "--sched", "good.fxt", "-t", "none"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(wrong.stderr.contains("the archive has no thread named 'none'"), "{wrong:?}");
}

#[test]
fn threads_of_the_tracer_and_threads_that_are_not_recorded_are_explained() {
    let place = Place::new();
    let stats = |a: &str, b: &str| {
        let text = SCHEDULE.replace("comm=b ", &format!("comm={b} "));
        let text = text.replace("comm=a ", &format!("comm={a} "));
        let text = text.replace(" a-7 ", &format!(" {a}-7 ")).replace(" b-8 ", &format!(" {b}-8 "));
        place.put("sched.txt", format!("# tracer: nop\n{text}").as_bytes());
        place.run(&["stats", "--sched", "sched.txt"]).stdout
    };
    assert!(!stats("a", "b").contains("tracer"));
    let text = stats("trace-service", "other threads or idle");
    let others = "\nother threads or idle: a CPU ran a thread that is not recorded, or none\n";
    assert!(
        text.contains(others) && text.ends_with("\nthreads of the tracer: trace-service\n"),
        "{text}"
    );
}

/// `top` has the same times as `stats`.
#[test]
fn top_has_times_on_a_processor() {
    let place = Place::new();
    let arguments = [][..].into();
    let event = Event {
        ticks: 100,
        thread: Thread::Inline(ThreadKoids::new(7, 7)),
        category: "app".into(),
        name: "work".into(),
        kind: EventKind::DurationComplete { end: 200 },
        arguments,
    };
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    writer.record(&event.into()).unwrap();
    let switches = [(50, 0, 7), (130, 7, 0), (180, 0, 7), (210, 7, 0)];
    for (ticks, outgoing_thread, incoming_thread) in switches {
        let (cpu, outgoing_state) = (0, ThreadState::BLOCKED);
        let switch = ContextSwitch {
            ticks,
            cpu,
            outgoing_state,
            outgoing_thread,
            incoming_thread,
            arguments,
        };
        writer.record(&switch.into()).unwrap();
    }
    place.put("in.fxt", &writer.into_inner());
    let run = place.run(&["top", "in.fxt"]);
    let stdout = " SELF   SHARE  COUNT  TOTAL  ON-CPU   MEAN  NAME\n\
                  100ns  100.0%      1  100ns    50ns  100ns  app:work\n";
    assert_eq!(run, Run { code: 0, stdout: stdout.to_owned(), stderr: String::new() });
    let json: serde_json::Value =
        serde_json::from_str(&place.run(&["top", "in.fxt", "--json"]).stdout).unwrap();
    assert_eq!(json["durations"][0]["on_cpu_ns"], 50);
    let piped = place.run_with(&["top", "-"], &std::fs::read(place.path("in.fxt")).unwrap());
    assert_eq!(piped.stdout, stdout);
}

/// The scheduling records are in the part that was cut off.
#[test]
fn a_cut_archive_is_no_reason_to_record_again() {
    let place = Place::new();
    let mut archive = good();
    archive.truncate(archive.len() - 8);
    place.put("cut.fxt", &archive);
    for options in [&["--sched"][..], &["--at", "0s", "-t", "34"]] {
        let run = place.run(&[&["stats", "cut.fxt"], options].concat());
        assert!(run.stderr.contains(" scheduling records in its readable part\n"), "{run:?}");
        assert!(!run.stderr.contains("record with --sched"), "{run:?}");
    }
}

/// Other threads are recorded only where they change with the recorded ones.
#[test]
fn switches_of_threads_outside_of_the_recorded_processes_are_not_missing() {
    let place = Place::new();
    let mut archive = switch(&[7, 8]);
    let mut second = switch(&[7, 8]);
    // The magic number and the provider are there already.
    let records = second.split_off(8);
    archive.extend(records);
    place.put("in.fxt", &archive);
    let run = place.run(&["check", "in.fxt", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["kinds"]["switches"], 2);
    assert_eq!(json["kinds"]["missing_switches"], 0, "from 8 to 7, then from 8");
}

#[test]
fn selected_threads_require_scheduling_records() {
    let place = Place::new();
    place.put("in.fxt", &switch(&[8]));
    let stats = |thread: &str| place.run(&["stats", "--sched", "in.fxt", "-t", thread]);
    let unknown = stats("99999");
    let stderr = "trace: in.fxt has no scheduling records of thread 99999\n".to_owned();
    assert_eq!(unknown, Run { code: 1, stdout: String::new(), stderr });
    let partial = stats("8");
    let stdout = "1 thread outside of the recorded processes is omitted\n";
    assert_eq!((partial.code, &*partial.stdout), (0, stdout), "{partial:?}");
    let known = stats("7");
    assert!(known.code == 0 && known.stdout.contains("a (7)"), "{known:?}");
    assert!(!known.stdout.contains("omitted"), "{known:?}");
    // The archive has the thread, but no scheduling records.
    place.put("in.fxt", &crate::harness::good());
    let stderr = "trace: in.fxt has no scheduling records of thread 34\n\
                  hint: record with --sched, see trace doctor\n";
    assert_eq!(stats("34"), Run { code: 1, stdout: String::new(), stderr: stderr.to_owned() });
}

/// Each stack of the folded text counts for its innermost function, and once for each of its
/// functions.
#[test]
fn functions_have_the_samples_of_their_stacks() {
    let place = Place::new();
    let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/archives");
    let archive = archives.join("search.fxt.zst").into_os_string().into_string().unwrap();
    for selection in [&[][..], &["-n", "search file"], &["-n", "search file", "--over", "1ms"]] {
        place.run(&[&["convert", &archive, "--samples", "-o", "out.folded"], selection].concat());
        let mut expected: BTreeMap<String, [u64; 2]> = BTreeMap::new();
        for line in place.text("out.folded").lines() {
            let (stack, number) = line.rsplit_once(' ').unwrap();
            let (frames, number): (Vec<_>, u64) =
                (stack.split(';').collect(), number.parse().unwrap());
            expected.entry(frames[frames.len() - 1].to_owned()).or_default()[0] += number;
            for frame in frames.into_iter().collect::<BTreeSet<_>>() {
                expected.entry(frame.to_owned()).or_default()[1] += number;
            }
        }
        assert!(!expected.is_empty());
        let stats = [&["stats", &archive, "--samples", "--json"], selection].concat();
        let json: serde_json::Value = serde_json::from_str(&place.run(&stats).stdout).unwrap();
        let rows = json["functions"].as_array().unwrap().iter();
        let name = |row: &serde_json::Value| row["function"].as_str().unwrap().to_owned();
        let number = |row: &serde_json::Value, key| row[key].as_u64().unwrap();
        let found = rows.map(|row| (name(row), [number(row, "self"), number(row, "total")]));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "{selection:?}");
    }
}
