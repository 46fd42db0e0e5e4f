//! The arguments of events as JSON.
//!
//! The arguments of a begin wait for those of the end as lines: the name and the value as JSON,
//! with a tab between them. JSON has no characters before the space but as white space, which is
//! removed.

use std::io;

use serde_json::Value as Json;
use trace_analyze::arguments;
use trace_analyze::carried::{is_carried, ARGUMENT};
use trace_format::{Event, EventKind, Item, Value};

/// The name of the state of a poll.
const POLL_STATE: &str = "\"poll-state\"";

/// Appends a line for each argument of an event.
pub(super) fn add_lines(lines: &mut Vec<u8>, item: &Item<'_>, event: &Event<'_>) -> io::Result<()> {
    let is_counter = matches!(event.kind, EventKind::Counter { .. });
    for argument in &event.arguments {
        let name = item.text(argument.name);
        let embedded = name.strip_prefix(ARGUMENT);
        if embedded.is_none() && is_carried(&name) {
            continue;
        }
        serde_json::to_writer(&mut *lines, embedded.unwrap_or(&name))?;
        lines.push(b'\t');
        match argument.value {
            Value::String(text) if embedded.is_some() => embed(lines, &item.text(text))?,
            // The values of a counter are numbers, whatever their names are.
            value if !is_counter && arguments::is_operation_id(&name) => id(lines, item, value)?,
            value => plain(lines, item, value)?,
        }
        lines.push(b'\n');
    }
    Ok(())
}

fn plain(lines: &mut Vec<u8>, item: &Item<'_>, value: Value<'_>) -> io::Result<()> {
    match value {
        Value::String(text) => serde_json::to_writer(lines, &*item.text(text))?,
        value => serde_json::to_writer(lines, &arguments::to_json(item, value))?,
    }
    Ok(())
}

/// Appends an id of an operation as in the column `id`: spreadsheets round large numbers.
fn id(lines: &mut Vec<u8>, item: &Item<'_>, value: Value<'_>) -> io::Result<()> {
    match arguments::unsigned(item, value) {
        Some(id) => io::Write::write_fmt(lines, format_args!("\"{id:#x}\"")),
        None => plain(lines, item, value),
    }
}

/// Appends a value that is JSON already, with its numbers as they are written.
fn embed(lines: &mut Vec<u8>, json: &str) -> io::Result<()> {
    match serde_json::from_str::<Json>(json) {
        Ok(_) => lines.extend(json.bytes().filter(|byte| *byte >= b' ')),
        Err(_) => serde_json::to_writer(lines, json)?,
    }
    Ok(())
}

/// Appends the arguments of a begin and its end as a JSON object, or nothing if there are none.
/// Values of one name are an array; the state of a poll is that of its end.
pub(super) fn add_object(object: &mut String, begin: &str, end: &str) {
    let arguments = arguments_of(begin, end);
    let start = object.len();
    for (number, &(name, value)) in arguments.iter().enumerate() {
        let (earlier, later) = arguments.split_at(number);
        if earlier.iter().any(|(earlier, _)| *earlier == name) {
            continue;
        }
        object.push(if object.len() == start { '{' } else { ',' });
        object.extend([name, ":"]);
        let mut others = later.iter().skip(1).filter(|(later, _)| *later == name).peekable();
        if others.peek().is_none() {
            object.push_str(value);
            continue;
        }
        object.extend(["[", value]);
        others.for_each(|(_, value)| object.extend([",", value]));
        object.push(']');
    }
    if object.len() > start {
        object.push('}');
    }
}

/// Returns the names and values of a begin and its end.
fn arguments_of<'a>(begin: &'a str, end: &'a str) -> Vec<(&'a str, &'a str)> {
    let of = |lines: &'a str| lines.split_terminator('\n').filter_map(|line| line.split_once('\t'));
    let mut arguments: Vec<(&str, &str)> = of(begin).collect();
    if of(end).any(|(name, _)| name == POLL_STATE) {
        arguments.retain(|(name, _)| *name != POLL_STATE);
    }
    arguments.extend(of(end));
    arguments
}

#[cfg(test)]
mod tests {
    use super::add_object;

    fn object(begin: &str, end: &str) -> String {
        let mut object = String::new();
        add_object(&mut object, begin, end);
        object
    }

    #[test]
    fn values_of_one_name_are_an_array() {
        assert_eq!(object("", ""), "");
        assert_eq!(object("\"a\"\t1\n", ""), r#"{"a":1}"#);
        let (begin, end) = ("\"a\"\t[1]\n\"b\"\t0.1\n", "\"c\"\t\"x\"\n\"a\"\t2\n\"a\"\tnull\n");
        assert_eq!(object(begin, end), r#"{"a":[[1],2,null],"b":0.1,"c":"x"}"#);
        let running = "\"poll-state\"\t\"running\"\n\"n\"\t1\n";
        let ready = "\"poll-state\"\t\"ready\"\n";
        assert_eq!(object(running, ready), r#"{"n":1,"poll-state":"ready"}"#);
        assert_eq!(object(running, ""), r#"{"poll-state":"running","n":1}"#);
    }
}
