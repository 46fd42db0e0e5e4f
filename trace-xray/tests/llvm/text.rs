//! Records in the text form of LLVM's tools.

use std::collections::BTreeMap;
use std::fmt::Write;

use trace_xray::layout::Action;
use trace_xray::{EventTime, Record};

use crate::common::OwnedItem;

/// Returns records as `llvm-xray fdr-dump` prints them.
pub(crate) fn dump(items: &[OwnedItem]) -> String {
    items.iter().fold(String::new(), |mut text, item| {
        writeln!(text, "{}", line(&item.record)).unwrap();
        text
    })
}

pub(crate) fn line(record: &Record<'_>) -> String {
    let data = String::from_utf8_lossy;
    match record {
        Record::Function(function) => {
            let action = match function.action {
                Action::Entry => "Enter",
                Action::Exit => "Exit",
                Action::TailExit => "Tail Exit",
                Action::EntryArgs => "Enter With Arg",
            };
            format!("<Function {action}: {} delta = +{}>", function.function, function.delta)
        }
        Record::NewBuffer { thread } => format!("<Thread ID: {thread}>"),
        Record::EndOfBuffer => "<End of Buffer>".to_owned(),
        Record::NewCpuId { cpu, tsc } => format!("<CPU: id = {cpu}, tsc = {tsc}>"),
        Record::TscWrap { tsc } => format!("<TSC Wrap: base = {tsc}>"),
        Record::WallClock(time) => {
            format!("<Wall Time: seconds = {}.{:06}>", time.seconds, time.micros)
        }
        Record::CustomEvent(event) => {
            let (size, data) = (event.payload.len(), data(event.payload));
            match event.time {
                EventTime::Delta(delta) => {
                    format!("<Custom Event: delta = +{delta}, size = {size}, data = '{data}'>")
                }
                EventTime::Absolute { tsc, cpu } => {
                    let cpu = cpu.unwrap_or(0);
                    format!(
                        "<Custom Event: tsc = {tsc}, cpu = {cpu}, size = {size}, data = '{data}'>"
                    )
                }
            }
        }
        Record::CallArgument { value } => {
            format!("<Call Argument: data = {value} (hex = {value:#x})>")
        }
        Record::BufferExtents { size } => format!("<Buffer: size = {size} bytes>"),
        Record::TypedEvent(event) => format!(
            "<Typed Event: delta = +{}, type = {}, size = {}, data = '{}'",
            event.delta,
            event.event_type,
            event.payload.len(),
            data(event.payload)
        ),
        Record::Pid { pid } => format!("<PID: {pid}>"),
    }
}

/// Returns functions and events in a common form, sorted: what `llvm-xray convert -f yaml` prints.
pub(crate) fn events_of_yaml(yaml: &str) -> Vec<String> {
    let records = yaml.lines().filter(|line| line.starts_with("  - {"));
    let mut events: Vec<_> = records.map(event_of_yaml).collect();
    events.sort();
    events
}

fn event_of_yaml(line: &str) -> String {
    let field = |name: &str| {
        let (_, rest) = line.split_once(&format!(" {name}: ")).unwrap_or_default();
        let end = if rest.starts_with('[') { " ]" } else { "," };
        rest.split(end).next().unwrap_or_default().trim_matches(['[', ' ']).to_owned()
    };
    let (_, data) = line.split_once(" data: ").unwrap();
    let data = data.trim_end_matches([' ', '}']).trim_matches(['\'', '"']).replace("\\0", "\0");
    let kind = field("kind");
    // LLVM leaves the number of the function before in an event.
    let is_event = kind == "custom-event" || kind == "typed-event";
    let function = if is_event { "-".to_owned() } else { field("func-id") };
    let (tsc, thread, cpu) = (field("tsc"), field("thread"), field("cpu"));
    // LLVM does not print a process of 0.
    let process = Some(field("process")).filter(|process| !process.is_empty());
    let process = process.unwrap_or("0".to_owned());
    format!("{tsc} {process}/{thread} cpu {cpu} {kind} {function} [{}] {data}", field("args"))
}

/// Returns the same of our items.
pub(crate) fn events_of_items(items: &[OwnedItem]) -> Vec<String> {
    let mut events: Vec<(String, Vec<String>, String)> = Vec::new();
    for item in items {
        let (kind, function, data) = match &item.record {
            Record::Function(record) => {
                let kind = match record.action {
                    Action::Entry => "function-enter",
                    Action::Exit => "function-exit",
                    Action::TailExit => "function-tail-exit",
                    Action::EntryArgs => "function-enter-arg",
                };
                (kind, record.function.number().to_string(), String::new())
            }
            Record::CallArgument { value } => {
                events.last_mut().unwrap().1.push(value.to_string());
                continue;
            }
            Record::CustomEvent(event) => ("custom-event", "-".to_owned(), text(event.payload)),
            Record::TypedEvent(event) => ("typed-event", "-".to_owned(), text(event.payload)),
            _ => continue,
        };
        // LLVM has 0 for a process and a CPU that are not in the log.
        let absolute = matches!(&item.record, Record::CustomEvent(event)
            if matches!(event.time, EventTime::Absolute { cpu: None, .. }));
        let cpu = if absolute { 0 } else { item.cpu };
        let process = item.process.unwrap_or(0);
        let start = format!("{} {process}/{} cpu {cpu} {kind} {function}", item.tsc, item.thread);
        events.push((start, Vec::new(), data));
    }
    let line = |(start, args, data): (String, Vec<String>, String)| {
        format!("{start} [{}] {data}", args.join(", "))
    };
    let mut lines: Vec<_> = events.into_iter().map(line).collect();
    lines.sort();
    lines
}

fn text(payload: &[u8]) -> String {
    String::from_utf8_lossy(payload).into_owned()
}

/// Compares lines, and prints only the first ones that differ.
#[track_caller]
pub(crate) fn same_lines(ours: &[String], theirs: &[String], case: &str) {
    let differs = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
    if let Some(at) = differs {
        panic!("{case}, line {at}:\nours:   {:?}\ntheirs: {:?}", ours[at], theirs[at]);
    }
    assert_eq!(ours.len(), theirs.len(), "{case}");
}

/// Compares texts.
#[track_caller]
pub(crate) fn same_text(ours: &str, theirs: &str, case: &str) {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    same_lines(&lines(ours), &lines(theirs), case);
}

/// Counts equal values.
pub(crate) fn counted<T: Ord>(all: impl IntoIterator<Item = T>) -> BTreeMap<T, u64> {
    all.into_iter().fold(BTreeMap::new(), |mut counts, one| {
        *counts.entry(one).or_default() += 1;
        counts
    })
}
