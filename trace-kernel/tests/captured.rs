//! Pages of a kernel, against the text that it makes of them.

#[path = "common/captured.rs"]
mod capture;

use std::collections::BTreeMap;

use capture::{Capture, Line};
use trace_kernel::format::{check_event_header, EventFormat, Value};
use trace_kernel::page::{Missed, RawEvent};
use trace_kernel::ByteOrder;

/// Compares the fields that the text names, and returns their number.
fn compare(format: &EventFormat, event: &RawEvent<'_>, line: &Line<'_>) -> usize {
    let values = format.values(event.payload, ByteOrder::NATIVE);
    values.filter(|(name, value)| is_printed(name, *value, line)).count()
}

/// Tells whether the text has a field. Fails if it has another value.
fn is_printed(name: &str, value: Value<'_>, line: &Line<'_>) -> bool {
    let key = format!("{name}=");
    let at = line.details.match_indices(&key);
    let at = at.map(|(at, _)| at).find(|at| *at == 0 || line.details[..*at].ends_with(' '));
    let Some(at) = at else { return false };
    let printed = &line.details[at + key.len()..];
    let end = printed.find([' ', ',']).unwrap_or(printed.len());
    let word = &printed[..end];
    let is_equal = match value {
        Value::Text(text) => {
            let behind = printed.strip_prefix(text).map(|rest| rest.chars().next());
            matches!(behind, Some(None | Some(' ' | '\u{fffd}')))
        }
        // The text has letters for states and words for truth.
        _ if word.starts_with(char::is_alphabetic) && word.parse::<i64>().is_err() => {
            return u64::from_str_radix(word, 16).ok().map(Value::Unsigned) == Some(value);
        }
        Value::Signed(number) => word.parse() == Ok(number),
        Value::Unsigned(number) | Value::Pointer(number) => {
            word.parse() == Ok(number) || u64::from_str_radix(word, 16) == Ok(number)
        }
        Value::Bytes(_) => return false,
    };
    assert!(is_equal, "{name}: {value:?} in {line:?}");
    true
}

/// The numbers of `NR 1 (a, b, …)` and `NR 1 = 2`.
fn compare_call(format: &EventFormat, event: &RawEvent<'_>, line: &Line<'_>) {
    let Some(rest) = line.details.strip_prefix("NR ") else { return };
    let values: Vec<_> = format.values(event.payload, ByteOrder::NATIVE).collect();
    let words: Vec<_> = rest.split([' ', '(', ')', ',', '=']).filter(|it| !it.is_empty()).collect();
    assert_eq!(values[0], ("id", Value::Signed(words[0].parse().unwrap())));
    match values[1] {
        ("ret", ret) => assert_eq!(ret, Value::Signed(words[1].parse().unwrap())),
        ("args", Value::Bytes(bytes)) => {
            let printed = words[1..].iter().map(|word| u64::from_str_radix(word, 16).unwrap());
            let bytes = bytes.chunks(8).map(|it| ByteOrder::NATIVE.number(it).unwrap());
            assert!(bytes.eq(printed), "{line:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_kernel_prints_the_same_events() {
    let capture = Capture::read();
    let events: Vec<Vec<_>> =
        capture.cpus.iter().map(|cpu| capture.events(cpu).collect()).collect();
    let mut next = vec![0; events.len()];
    let mut compared = BTreeMap::<&str, usize>::new();
    for line in capture.lines() {
        let place = &mut next[line.cpu];
        let event = &events[line.cpu][*place];
        *place += 1;
        let format = &capture.formats[&event.id];
        let thread = format.field("common_pid").unwrap();
        let thread = thread.value(event.payload, ByteOrder::NATIVE).unwrap();
        // A marker has no name of a format in the text.
        let name = if &*format.name == "print" { "tracing_mark_write" } else { &format.name };
        assert_eq!((event.time, name), (line.time, line.event), "{line:?}");
        assert_eq!(thread, Value::Signed(line.thread), "{line:?}");
        *compared.entry(&format.name).or_default() += compare(format, event, &line);
        compare_call(format, event, &line);
    }
    let lengths: Vec<_> = events.iter().map(Vec::len).collect();
    assert_eq!(next, lengths, "no event is missing in the text");
    assert!(lengths.iter().sum::<usize>() > 500);
    for (name, fields) in
        ["sched_switch", "sched_waking", "task_rename"].map(|it| (it, compared[it]))
    {
        assert!(fields >= 6, "{name}: {fields}");
    }
}

#[test]
fn overwritten_events_are_counted() {
    let capture = Capture::read();
    for (bytes, overrun) in &capture.cpus {
        let pages = bytes.chunks(capture.layout.page_size);
        let missed: Vec<Missed> =
            pages.map(|page| capture.layout.parse(page).unwrap().missed).collect();
        let count = |missed: &Missed| match missed {
            Missed::Count(number) => *number,
            Missed::None | Missed::Unknown => 0,
        };
        let known: u64 = missed.iter().map(count).sum();
        // The kernel writes no number into a page without space for it.
        match missed.contains(&Missed::Unknown) {
            true => assert!(known < *overrun, "{missed:?}"),
            false => assert_eq!(known, *overrun),
        }
    }
}

#[test]
fn the_event_header_is_supported() {
    let kept = include_str!("captured/header_event");
    assert_eq!(check_event_header(kept), Ok(()));
}
