//! The thread that starts the command is not recorded, and the command is from its program on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use trace_format::layout::ObjectType;
use trace_format::{Reader, Record, Value};

use super::harness::{subject_path, trace, Archive, Event, Provider, Run};
use super::{can_trace, TRACEFS};

/// A function of the C library that the recorder calls to start the command.
const STARTS: &str = "posix_spawnattr_init";

/// Returns the C library that this program has.
fn c_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    files.find(|file| file.contains("/libc.so")).expect("the C library is a file").into()
}

/// Returns the threads that scheduling records are about, each pair as an entry.
fn pairs(bytes: &[u8]) -> Vec<[u64; 2]> {
    let (mut reader, mut pairs) = (Reader::new(bytes), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::ContextSwitch(it) => pairs.push([it.outgoing_thread, it.incoming_thread]),
            Record::ThreadWakeup(it) => {
                let is_by = |name: &str| ["waker", "interrupted"].contains(&name);
                let by = it.arguments.iter().find(|it| is_by(&item.text(it.name)));
                let by = match by.map(|by| by.value) {
                    Some(Value::Koid(koid)) => koid,
                    _ => 0,
                };
                pairs.push([it.thread, by]);
            }
            _ => {}
        }
    }
    pairs
}

/// Returns the threads of which all events are recorded, but for those of the helper.
fn whole(bytes: &[u8], helper: u64) -> BTreeSet<u64> {
    let (mut reader, mut threads) = (Reader::new(bytes), BTreeSet::new());
    while let Some(item) = reader.next().unwrap() {
        let Record::KernelObject(object) = &item.record else { continue };
        let has = |value| object.arguments.iter().any(|it| it.value == value);
        let is_other = has(Value::Bool(true)) || has(Value::Koid(helper));
        if object.object_type == ObjectType::THREAD && !is_other {
            threads.insert(object.koid);
        }
    }
    threads
}

/// Records a shell that starts a program, with these categories.
fn recorded(output: &Path, categories: &str) -> Archive {
    let mut command = trace(&["record", "-c", categories, "-o"]);
    let script = r#""$0" untraced; exit 0"#;
    command.arg(output).args(["--", "sh", "-c", script]).arg(subject_path());
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains(", 0 lost"), "{run:?}");
    Archive::read(output)
}

fn kernel(archive: &Archive) -> &Provider {
    archive.providers.iter().find(|provider| provider.name == "kernel").expect("events")
}

#[test]
fn the_events_of_the_starter_are_not_recorded() {
    if !can_trace() || !Path::new(TRACEFS).join("uprobe_events").exists() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let starts = format!("kernel:uprobe:{}:{STARTS}", c_library().display());
    let archive = recorded(
        &output,
        &format!("kernel:syscall,kernel:sched,kernel:tasks,kernel:event:task/*,{starts}"),
    );
    let kernel = kernel(&archive);
    let execs: Vec<&Event> = kernel.named("exec").collect();
    assert_eq!(execs.len(), 2, "{execs:?}");
    let (command, program) = (execs[0].process, execs[1].process);
    assert!(execs[0].texts["file"].ends_with("sh") && command != program, "{execs:?}");
    let of_command = [command, program];
    // The command may move any thread to another CPU.
    for event in kernel.events.iter().filter(|event| event.name != "migrate") {
        assert!(of_command.contains(&event.process), "{event:?}");
        let is_scheduling = ["kernel:sched", "kernel:tasks"].contains(&event.category.as_str());
        if event.process == command && !is_scheduling {
            assert!(event.ticks >= execs[0].ticks, "before the program: {event:?}");
        }
    }
    assert_eq!(kernel.named(STARTS).count(), 0);
    let calls = |process| {
        let of_process = kernel.events.iter().filter(move |event| event.process == process);
        of_process.filter(|event| event.category == "kernel:syscall").count()
    };
    assert!(calls(command) > 10 && calls(program) > 10, "the command is recorded");
    let bytes = std::fs::read(&output).unwrap();
    assert_eq!(whole(&bytes, kernel.pid), BTreeSet::from(of_command), "the threads of the command");
    let pairs = pairs(&bytes);
    assert!(!pairs.is_empty());
    for pair in pairs {
        let names = pair.map(|thread| kernel.thread_names.get(&thread));
        assert!(pair.iter().any(|thread| of_command.contains(thread)), "{pair:?} {names:?}");
    }
}

/// The recorder calls the function that the other test looks for.
#[test]
fn the_start_is_recorded_of_the_machine() {
    if !can_trace() || !Path::new(TRACEFS).join("uprobe_events").exists() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let starts = format!("kernel:uprobe:{}:{STARTS}", c_library().display());
    let mut command = trace(&["record", "--kernel-scope", "machine", "-c", &starts, "-o"]);
    let run = Run::of(command.arg(&output).args(["--", "true"]));
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&output);
    assert!(kernel(&archive).named(STARTS).count() > 0);
}
