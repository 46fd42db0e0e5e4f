//! Files of trace-cmd, against its own report, and damaged ones.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use trace_format::layout::ThreadState;
use trace_kernel::format::Value;
use trace_kernel::page::Missed;
use trace_kernel::trace_dat::{TraceDat, TraceDatError};
use trace_kernel::{Entry, Event, Task};

/// Returns the directory in `TRACE_KERNEL_FILES`, or that of this repository.
fn directory() -> PathBuf {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace-cmd");
    std::env::var_os("TRACE_KERNEL_FILES").map_or(kept, PathBuf::from)
}

/// Returns the files of the recording.
fn files() -> Vec<PathBuf> {
    let files = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "dat")).collect();
    files.sort();
    assert!(files.len() >= 2);
    files
}

fn open(bytes: &[u8]) -> Result<TraceDat<Cursor<&[u8]>>, TraceDatError> {
    TraceDat::open(Cursor::new(bytes))
}

/// A line of `trace-cmd report -R -t`.
struct Line<'a> {
    thread: u64,
    cpu: u16,
    nanos: u64,
    name: &'a str,
    /// Each field as `NAME=VALUE`.
    fields: &'a str,
}

/// `sleep-26368 [001] 26325.683495654: sys_exit: id=1 ret=1`
fn line(line: &str) -> Option<Line<'_>> {
    let (task, rest) = line.split_once(" [")?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (time, rest) = rest.split_once(": ")?;
    let (name, fields) = rest.split_once(':')?;
    let thread = task.trim().rsplit('-').next()?.parse().ok()?;
    let nanos = time.trim().replace('.', "").parse().ok()?;
    Some(Line { thread, cpu: cpu.parse().ok()?, nanos, name: name.trim(), fields: fields.trim() })
}

/// Returns an event's fields as the report has them, with the event's name. States of threads are
/// compared by the caller.
fn fields(event: &Event<'_>) -> (String, Vec<(String, String)>) {
    let task = |prefix: &str, it: &Task<'_>| {
        let name = |field: &str| format!("{prefix}{field}");
        vec![
            (name("comm"), it.name.to_owned()),
            (name("pid"), it.thread.to_string()),
            (name("prio"), it.priority.unwrap().to_string()),
        ]
    };
    let list = |list: &[(&str, String)]| {
        list.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    };
    let and = |mut fields: Vec<_>, more: &[(&str, String)]| {
        fields.extend::<Vec<(String, String)>>(list(more));
        fields
    };
    let (name, fields) = match event {
        Event::Switch { outgoing, incoming, .. } => {
            ("sched_switch", [task("prev_", outgoing), task("next_", incoming)].concat())
        }
        Event::Waking { task: it, cpu } => {
            ("sched_waking", and(task("", it), &[("target_cpu", format!("{cpu:03}"))]))
        }
        Event::Wakeup { task: it, cpu } => {
            ("sched_wakeup", and(task("", it), &[("target_cpu", format!("{cpu:03}"))]))
        }
        Event::Migrate { task: it, from, to } => (
            "sched_migrate_task",
            and(task("", it), &[("orig_cpu", from.to_string()), ("dest_cpu", to.to_string())]),
        ),
        Event::Fork { child, name } => (
            "sched_process_fork",
            list(&[("child_comm", (*name).into()), ("child_pid", child.to_string())]),
        ),
        Event::NewTask { child, name, .. } => {
            ("task_newtask", list(&[("pid", child.to_string()), ("comm", (*name).into())]))
        }
        Event::Exec { thread, file, .. } => (
            "sched_process_exec",
            list(&[("filename", (*file).into()), ("pid", thread.to_string())]),
        ),
        Event::Exit { task: it } => ("sched_process_exit", task("", it)),
        Event::Rename { thread, name } => {
            ("task_rename", list(&[("pid", thread.to_string()), ("newcomm", (*name).into())]))
        }
        Event::SyscallEnter { number, arguments } => {
            let bytes = arguments.iter().flat_map(|argument| argument.to_le_bytes());
            let bytes: Vec<_> = bytes.map(|byte| format!("{byte:02x}")).collect();
            let args = format!("ARRAY[{}]", bytes.join(", "));
            ("sys_enter", list(&[("id", number.to_string()), ("args", args)]))
        }
        Event::SyscallExit { number, result } => {
            ("sys_exit", list(&[("id", number.to_string()), ("ret", result.to_string())]))
        }
        Event::IrqEnter { irq, name } => {
            ("irq_handler_entry", list(&[("irq", irq.to_string()), ("name", (*name).into())]))
        }
        Event::IrqExit { irq, is_handled } => (
            "irq_handler_exit",
            list(&[("irq", irq.to_string()), ("ret", i32::from(*is_handled).to_string())]),
        ),
        Event::SoftirqEnter { vector, .. } => {
            ("softirq_entry", list(&[("vec", vector.to_string())]))
        }
        Event::SoftirqExit { vector } => ("softirq_exit", list(&[("vec", vector.to_string())])),
        Event::Marker { text } => ("print", list(&[("buf", (*text).into())])),
        Event::Other { format, payload, order } => {
            let values = format.values(payload, *order).filter_map(|(name, value)| {
                let value = match value {
                    Value::Signed(number) => number.to_string(),
                    Value::Unsigned(number) => number.to_string(),
                    Value::Text(text) => text.to_owned(),
                    _ => return None,
                };
                Some((name.to_owned(), value))
            });
            (&*format.name, values.collect())
        }
        other => panic!("{other:?}"),
    };
    (name.to_owned(), fields)
}

fn compare(entry: &Entry<'_>, line: &Line<'_>) {
    let context = format!("{entry:?} and {}", line.fields);
    let place = (entry.thread, entry.cpu, entry.ticks);
    assert_eq!(place, (line.thread, line.cpu, line.nanos), "{context}");
    let (name, fields) = fields(&entry.event);
    let is_new = line.name == "sched_wakeup_new" && name == "sched_wakeup";
    assert!(name == line.name || is_new, "{context}");
    for (name, value) in fields {
        let printed = format!(" {} ", line.fields);
        // Unsigned numbers are hexadecimal in the report, if they are not small.
        let hex = value.parse::<u64>().map(|number| format!(" {name}=0x{number:x} "));
        let is_there = printed.contains(&format!(" {name}={value} "))
            || hex.is_ok_and(|hex| printed.contains(&hex));
        assert!(is_there, "{name}={value} in {context}");
    }
    if let Event::Switch { state, .. } = entry.event {
        let printed = line.fields.split("prev_state=").nth(1).unwrap();
        let bits = printed.split(' ').next().unwrap();
        let digits = bits.strip_prefix("0x");
        let bits =
            digits.map_or_else(|| bits.parse().unwrap(), |it| u64::from_str_radix(it, 16).unwrap());
        let expected = match bits {
            0 | 0x100 => ThreadState::RUNNING,
            4 | 8 => ThreadState::SUSPENDED,
            0x10 => ThreadState::DEAD,
            0x20 => ThreadState::DYING,
            _ => ThreadState::BLOCKED,
        };
        assert_eq!(state, expected, "{context}");
    }
}

#[test]
fn trace_cmd_reports_the_same_events() {
    let report = fs::read(directory().join("report.txt")).unwrap();
    let report = String::from_utf8_lossy(&report);
    let lines: Vec<_> = report.lines().filter_map(line).collect();
    assert!(lines.len() > 300 && lines.len() + 1 == report.lines().count());
    assert!(lines.windows(2).any(|two| two[0].cpu != two[1].cpu));
    for path in files() {
        let bytes = fs::read(&path).unwrap();
        let mut file = open(&bytes).unwrap();
        assert_eq!((file.clock(), file.ticks_per_second()), ("mono", Some(1_000_000_000)));
        assert!(file.names().any(|(_, name)| name == "sleep"));
        let mut lines = lines.iter();
        while let Some(item) = file.next().unwrap() {
            compare(&item.entry, lines.next().unwrap());
            assert_eq!(item.missed, Missed::None);
        }
        assert_eq!(lines.count(), 0, "{}", path.display());
    }
}

/// Reads all of a file; returns the number of its events.
fn count(bytes: &[u8]) -> Result<usize, TraceDatError> {
    let mut file = open(bytes)?;
    let mut events = 0;
    while file.next()?.is_some() {
        events += 1;
    }
    Ok(events)
}

fn kept(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace-cmd").join(name)).unwrap()
}

#[test]
fn malformed_files() {
    let message = |bytes: &[u8]| count(bytes).unwrap_err().to_string();
    let (old, new) = (kept("v6.dat"), kept("v7-zstd.dat"));
    assert_eq!(message(b""), "the file is truncated");
    assert_eq!(message(&[0; 100]), "not a file of trace-cmd");
    let changed = |bytes: &[u8], from: &[u8], to: &[u8]| {
        let place = bytes.windows(from.len()).position(|window| window == from).unwrap();
        [&bytes[..place], to, &bytes[place + from.len()..]].concat()
    };
    let version = changed(&old, b"tracing6", b"tracing5");
    assert_eq!(message(&version), "unsupported version \"5\" of trace.dat");
    assert_eq!(message(&changed(&new, b"zstd", b"lzma")), "unsupported compression \"lzma\"");
    assert_eq!(message(&changed(&old, b"6\0\0\x08", b"6\0\x02\x08")), "malformed byte order");
    assert_eq!(message(&changed(&old, b"header_page", b"header_pagx")), "malformed header_page");
    assert_eq!(
        message(&changed(&old, b"local_t commit", b"local_t commix")),
        "the page header has no field commit"
    );
    assert_eq!(message(&old[..old.len() - 100]), "the file is truncated");
    let text = changed(&old, b"flyrecord", b"latency  ");
    assert_eq!(message(&text), "malformed trace: it has text only");
}

#[test]
fn damaged_compressed_parts() {
    let whole = kept("v7-zstd.dat");
    let frames = whole.windows(4).enumerate().filter(|(_, bytes)| bytes == b"\x28\xb5\x2f\xfd");
    let failures = frames.filter(|(place, _)| {
        let mut damaged = whole.clone();
        damaged[*place..place + 40].fill(0xff);
        // Some sections are not read, such as the symbols of the kernel.
        let error = count(&damaged).err().map(|error| error.to_string());
        error.is_some_and(|error| error.starts_with("malformed compressed data at "))
    });
    // The header, two parts of formats, the names, and the pages of two CPUs.
    assert!(failures.count() >= 6);
}

#[test]
fn events_before_a_malformed_page_are_returned() {
    let mut bytes = kept("v6.dat");
    let all = count(&bytes).unwrap();
    // The last page: its length becomes larger than the page.
    let last = bytes.len() - 4096;
    bytes[last + 8..last + 12].copy_from_slice(&5000_u32.to_le_bytes());
    let mut file = open(&bytes).unwrap();
    let mut events = 0;
    let error = loop {
        match file.next() {
            Ok(Some(_)) => events += 1,
            Ok(None) => panic!("the page is malformed"),
            Err(error) => break error,
        }
    };
    assert!(events > 100 && events < all, "{events} of {all}");
    assert!(error.to_string().starts_with("malformed page of CPU "), "{error}");
}

proptest! {
    #[test]
    fn cut_and_changed_files_are_no_panic(
        is_new in any::<bool>(),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let mut bytes = kept(if is_new { "v7-zstd.dat" } else { "v6.dat" });
        for (place, byte) in changes {
            let place = place.index(bytes.len().min(2000));
            bytes[place] = byte;
        }
        if let Err(error) = count(&bytes[..cut.index(bytes.len())]) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
