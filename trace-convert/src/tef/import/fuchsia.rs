//! Scheduling events in the JSON of Fuchsia: an object `{"type":"fuchsia","events":[…]}` instead of
//! ftrace's text.
//!
//! | `ph` | meaning                                                            |
//! |------|--------------------------------------------------------------------|
//! | `p`  | the `name` of a process, `pid`                                     |
//! | `t`  | the `name` of a thread, `tid`, of a process                        |
//! | `k`  | a context switch on `cpu` at `ts`, with the objects `out` and `in` |
//! | `w`  | a wakeup of `tid`                                                  |

use trace_format::layout::{ObjectType, ThreadState};
use trace_format::{Argument, ContextSwitch, Record, ThreadWakeup, Value as Fxt, WriteError};

use super::{name_object, Archive};
use crate::tef::event::Event;
use crate::tef::field::Field;
use crate::tef::parsed::Parsed;
use crate::tef::reader::{Item, Reader};
use crate::tef::scan::Scanner;
use crate::tef::value::{Text, Value};
use trace_analyze::carried::ADDED;

/// Writes the records of such an object, with `shift` nanoseconds added to times. Returns the
/// number of scheduling records. Other events are ignored.
pub(super) fn records(writer: &mut Archive, json: &str, shift: u64) -> Result<u64, WriteError> {
    let mut parsed = Parsed::default();
    let Some(object) = members(json, &mut parsed) else {
        return Ok(0);
    };
    let is_fuchsia = object.other("type") == Some(Value::String(Text::new("fuchsia", false)));
    let (true, Some(Value::Nested(events))) = (is_fuchsia, object.other("events")) else {
        return Ok(0);
    };
    let mut events = Reader::new(events.as_bytes());
    let mut count = 0;
    while let Ok(Some(Item::Event(event))) = events.next() {
        count += record(writer, &event, shift)?;
    }
    Ok(count)
}

/// Returns the members of an object as those of an event.
fn members<'a>(json: &'a str, parsed: &'a mut Parsed) -> Option<Event<'a>> {
    parsed.parse(&mut Scanner::new(json.as_bytes(), 0), json.as_bytes()).ok()?;
    Some(Event { text: json, parsed })
}

fn record(writer: &mut Archive, event: &Event<'_>, shift: u64) -> Result<u64, WriteError> {
    let mut arguments = vec![Argument::new(ADDED, Fxt::Bool(true))];
    let record = match event.phase() {
        Some('p' | 't') => return named(writer, event).map(|()| 0),
        Some('k') => switch(event, &mut arguments),
        Some('w') => wakeup(event, &mut arguments),
        _ => None,
    };
    let Some(mut record) = record else { return Ok(0) };
    record.times().for_each(|ticks| *ticks = ticks.saturating_add(shift));
    writer.record(&record).map(|()| 1)
}

fn named(writer: &mut Archive, event: &Event<'_>) -> Result<(), WriteError> {
    let Some(process) = unsigned(event.get(Field::Process)) else { return Ok(()) };
    let name = match event.get(Field::Name) {
        Some(Value::String(name)) => name.to_str(),
        _ => "".into(),
    };
    match (event.get(Field::Thread), unsigned(event.get(Field::Thread))) {
        (None, _) => name_object(writer, (ObjectType::PROCESS, process), &name, None),
        (_, Some(koid)) => name_object(writer, (ObjectType::THREAD, koid), &name, Some(process)),
        _ => Ok(()),
    }
}

fn switch<'a>(event: &Event<'_>, arguments: &'a mut Vec<Argument<'a>>) -> Option<Record<'a>> {
    let side = |key, weight| {
        let Some(Value::Nested(json)) = event.other(key) else {
            return None;
        };
        let mut parsed = Parsed::default();
        let side = members(json, &mut parsed)?;
        let thread = unsigned(side.get(Field::Thread))?;
        Some((thread, unsigned(side.other("state")), argument(weight, side.other("prio"))))
    };
    let (outgoing_thread, state, outgoing_weight) = side("out", "outgoing_weight")?;
    let (incoming_thread, _, incoming_weight) = side("in", "incoming_weight")?;
    arguments.extend([outgoing_weight, incoming_weight].into_iter().flatten());
    let switch = ContextSwitch {
        ticks: event.get(Field::Timestamp).and_then(Event::nanos)?,
        cpu: unsigned(event.other("cpu"))?.try_into().ok()?,
        // The record has four bits for it.
        outgoing_state: ThreadState(state.filter(|state| *state < 16)? as u8),
        outgoing_thread,
        incoming_thread,
        arguments: (&**arguments).into(),
    };
    Some(switch.into())
}

fn wakeup<'a>(event: &Event<'_>, arguments: &'a mut Vec<Argument<'a>>) -> Option<Record<'a>> {
    arguments.extend(argument("weight", event.other("prio")));
    let wakeup = ThreadWakeup {
        ticks: event.get(Field::Timestamp).and_then(Event::nanos)?,
        cpu: unsigned(event.other("cpu"))?.try_into().ok()?,
        thread: unsigned(event.get(Field::Thread))?,
        arguments: (&**arguments).into(),
    };
    Some(wakeup.into())
}

fn unsigned(value: Option<Value<'_>>) -> Option<u64> {
    match value? {
        Value::Number(number) => number.to_u64(),
        _ => None,
    }
}

/// Returns a weight as an argument, if it is an integer.
fn argument(name: &'static str, value: Option<Value<'_>>) -> Option<Argument<'static>> {
    match value? {
        Value::Number(number) => {
            let weight = number.to_fxt().filter(|weight| matches!(weight, Fxt::Int32(_)));
            weight.map(|weight| Argument::new(name, weight))
        }
        _ => None,
    }
}
