//! Every command with every format that can be read.

use std::path::Path;

use super::{place, COMMANDS, GOOD, WRONG};
use crate::compressed::{gzip, zstd};
use crate::harness::{everything, Place};
use crate::xray::log;

/// The format of `/sys/kernel/tracing/trace`.
const FTRACE: &str = "\
# tracer: nop
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
             app-34      [000] d..2.   100.000001: tracing_mark_write: B|12|poll
             app-34      [000] d..2.   100.000002: tracing_mark_write: S|12|request|42
             app-34      [000] d..2.   100.000003: sched_switch: prev_comm=app prev_pid=34 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0       [000] d..2.   100.000005: sched_waking: comm=app pid=34 prio=120 target_cpu=000
          <idle>-0       [000] d..2.   100.000006: sched_wakeup: comm=app pid=34 prio=120 target_cpu=000
          <idle>-0       [000] d..2.   100.000007: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=34 next_prio=120
             app-34      [000] d..2.   100.000008: tracing_mark_write: C|12|queue|7
             app-34      [000] d..2.   100.000009: sys_enter_read: fd: 3
             app-34      [000] d..2.   100.000010: tracing_mark_write: F|12|request|42
             app-34      [000] d..2.   100.000011: tracing_mark_write: E|12
";

/// The format of `trace-cmd report`.
const TRACE_CMD: &str = "\
cpus=1
             app-34    [000]   100.000001: print:                tracing_mark_write: B|12|poll
             app-34    [000]   100.000002: print:                tracing_mark_write: S|12|request|42
             app-34    [000]   100.000003: sched_switch:         app:34 [120] S ==> swapper/0:0 [120]
          <idle>-0     [000]   100.000005: sched_waking:         comm=app pid=34 prio=120 target_cpu=000
          <idle>-0     [000]   100.000006: sched_wakeup:         app:34 [120] CPU:000
          <idle>-0     [000]   100.000007: sched_switch:         swapper/0:0 [120] R ==> app:34 [120]
             app-34    [000]   100.000008: print:                tracing_mark_write: C|12|queue|7
             app-34    [000]   100.000009: sys_enter_read:       fd: 3
             app-34    [000]   100.000010: print:                tracing_mark_write: F|12|request|42
             app-34    [000]   100.000011: print:                tracing_mark_write: E|12
";

/// The format of systrace.
fn systrace() -> String {
    format!(
        "<!DOCTYPE html>\n<html>\n<head><script>\nvar x = \"a-1 [000] .... 1.0: b: c\";\n</script>\n\
         </head>\n<body>\n<script class=\"trace-data\" type=\"application/text\">\n{FTRACE}</script>\n\
         <p>a-1 [000] .... 1.0: b: c</p></body>\n</html>\n"
    )
}

/// Returns a recording of trace-cmd.
fn trace_dat() -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-kernel/tests/trace-cmd");
    std::fs::read(directory.join("v6.dat")).unwrap()
}

/// Parts of commands for which a format has no data.
const ALL: &[&str] = &[];
const NO_FLOWS: &[&str] = &["--flow"];
const DURATIONS: &[&str] = &["--flow", "critical-path"];

/// Returns the formats, each with the parts of commands for which it has no data.
fn formats() -> Vec<(&'static str, Vec<u8>, &'static [&'static str])> {
    let place = place();
    assert_eq!(place.run(&["convert", GOOD, "-o", "all.json"]).code, 0);
    let json = place.text("all.json").into_bytes();
    vec![
        ("FXT", everything(), ALL),
        ("FXT in gzip", gzip(&everything()), ALL),
        ("FXT in zstd", zstd(&everything()), ALL),
        ("JSON", json.clone(), ALL),
        ("JSON in gzip", gzip(&json), ALL),
        ("ftrace", FTRACE.into(), NO_FLOWS),
        ("trace-cmd report", TRACE_CMD.into(), NO_FLOWS),
        ("systrace", systrace().into(), NO_FLOWS),
        ("trace.dat", trace_dat(), DURATIONS),
        ("XRay", log(), DURATIONS),
    ]
}

/// A session's stream is followed until it ends, and so is a file that cannot grow.
#[test]
fn complete_files_are_followed_to_their_end() {
    for (what, content, _) in formats().into_iter().filter(|(what, ..)| *what != "FXT") {
        let place = place();
        place.put(WRONG, &content);
        let run = place.run(&["follow", "./wrong.in"]);
        let expected = if run.stderr.contains("dropped") { 3 } else { 0 };
        assert_eq!(run.code, expected, "{what}: {run:?}");
        let expected = if what == "ftrace" { 9..=9 } else { 1..=usize::MAX };
        assert!(expected.contains(&run.stdout.lines().count()), "{what}: {run:?}");
    }
}

#[test]
fn every_command_reads_every_format() {
    for (what, content, lacks) in formats() {
        let has_data =
            |command: &&super::Command| !lacks.iter().any(|part| command.line.contains(part));
        for command in COMMANDS.iter().filter(has_data) {
            let is_written_already =
                what.contains("JSON") && command.output.starts_with("out.json");
            if is_written_already {
                continue;
            }
            let place = place();
            place.put(WRONG, &content);
            let run = command.run(&place, WRONG);
            // The compared archives have no row in common.
            let expected = if command.line.contains("diff") { &[0, 3][..] } else { &[0] };
            assert!(expected.contains(&run.code), "{} of {what}: {run:?}", command.line);
            let is_written = !command.output.is_empty() && place.path(command.output).exists();
            assert_eq!(is_written, !command.output.is_empty(), "{} of {what}", command.line);
            // The output is the same through a pipe, except that time on a processor requires a
            // file.
            let is_once = lacks.is_empty() || !command.line.contains("stats");
            if command.output.is_empty() && !command.line.contains("diff") && is_once {
                let piped = place.run_with(&command.with("-", ""), &content);
                assert_eq!((piped.code, piped.stdout), (run.code, run.stdout), "{what}");
            }
        }
    }
}

/// Returns the lines of a dump without their offsets.
fn dump(place: &Place, content: &[u8]) -> Vec<String> {
    let run = place.run_with(&["dump", "-"], content);
    assert_eq!(run.code, 0, "{run:?}");
    let is_event = |line: &&str| !line.contains("string ") && !line.contains(" thread 1 ");
    run.stdout.lines().filter(is_event).map(|line| line[11..].to_owned()).collect()
}

#[test]
fn ftrace_text_is_imported() {
    let place = place();
    let expected = [
        "- magic-number",
        "1 provider-info 1 \"ftrace\"",
        "1 initialization 1000000000 ticks/s",
        "1 kernel-object thread #34 \"app\" {\"process\": #12}",
        "1 duration-begin 12/34 100.000001000s \"atrace\" \"poll\"",
        "1 async-begin 12/34 100.000002000s \"atrace\" \"request\" id 42 (0x2a)",
        "1 context-switch cpu 0 100.000003000s from #34 blocked to #0 {\"outgoing_weight\": 120, \"incoming_weight\": 120}",
        "1 thread-wakeup cpu 0 100.000005000s #34 {\"weight\": 120}",
        "1 context-switch cpu 0 100.000007000s from #0 running to #34 {\"outgoing_weight\": 120, \"incoming_weight\": 120}",
        "1 counter 12/34 100.000008000s \"atrace\" \"queue\" id 0 (0x0) {\"value\": 7}",
        "1 instant 12/34 100.000009000s \"ftrace\" \"sys_enter_read\" thread {\"details\": \"fd: 3\"}",
        "1 async-end 12/34 100.000010000s \"atrace\" \"request\" id 42 (0x2a)",
        "1 duration-end 12/34 100.000011000s \"\" \"\"",
    ];
    assert_eq!(dump(&place, FTRACE.as_bytes()), expected);
    assert_eq!(dump(&place, TRACE_CMD.as_bytes()), expected);
    assert_eq!(dump(&place, systrace().as_bytes()), expected);
    let report: serde_json::Value =
        serde_json::from_str(&place.run_with(&["stats", "-", "--json"], FTRACE.as_bytes()).stdout)
            .unwrap();
    assert_eq!(report["durations"][0]["total_ns"], 10_000);
    assert_eq!(report["async"][0]["total_ns"], 8_000);
    place.put("in.txt", FTRACE.as_bytes());
    let run = place.run(&["convert", "in.txt", "-o", "out.fxt"]);
    assert_eq!((run.code, place.run(&["check", "out.fxt"]).code), (0, 0), "{run:?}");
}

#[test]
fn a_page_without_data() {
    let place = place();
    let run = place.run_with(&["stats", "-"], b"<!DOCTYPE html>\n<html></html>\n");
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("the page has no trace data"), "{run:?}");
}
