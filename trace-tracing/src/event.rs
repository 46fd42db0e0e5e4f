//! Events: instants, or log records.

use std::cell::Cell;
use std::fmt::Write;

use trace_runtime::context::{scope, Value};
use trace_runtime::Scope;
use tracing_core::Event;

use crate::callsite::{self, Callsite};
use crate::values::{cut, with_spare, Collector, Values, KEPT_TEXT};

/// What an event becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Instant,
    Log,
}

/// The longest name that is made of an event's text, in bytes.
const MAX_NAME: usize = 120;

/// Records an event.
#[inline]
pub(crate) fn record(event: &Event<'_>, form: Form) {
    let Some(callsite) = callsite::of(event.metadata()).filter(|callsite| callsite.point.is_on())
    else {
        return;
    };
    with_spare(|values| {
        event.record(&mut Collector::new(callsite, values));
        match form {
            Form::Instant => write_instant(callsite, values),
            Form::Log => write_log(callsite, values),
        }
    });
}

fn write_instant(callsite: &Callsite, values: &Values) {
    let tail = [scope(Scope::Thread)];
    let mut arguments = values.arguments();
    if callsite.is_named {
        callsite.point.write(&arguments, &tail);
        return;
    }
    let text = if callsite.has_message() { values.first_text() } else { "" };
    let name = cut(text, MAX_NAME);
    if let (true, Some(message)) =
        (callsite.has_message() && name.len() == text.len(), arguments.first_mut())
    {
        // It is the name.
        *message = Value::Omitted;
    }
    let name = if name.is_empty() { callsite.metadata.target() } else { name };
    callsite.point.write_named(name, &arguments, &tail);
}

/// `LEVEL target: message key=value`.
fn write_log(callsite: &Callsite, values: &Values) {
    with_text(|text| {
        let _endless =
            write!(text, "{} {}:", callsite.metadata.level(), callsite.metadata.target());
        for (place, value) in values.arguments().iter().enumerate() {
            let key = callsite.keys().get(place).copied().unwrap_or_default();
            let is_message = place == 0 && callsite.has_message();
            let _endless = match value {
                Value::Omitted => Ok(()),
                Value::Str(message) if is_message => write!(text, " {message}"),
                Value::Str(value) => write!(text, " {key}={value}"),
                Value::Bool(value) => write!(text, " {key}={value}"),
                Value::Int64(value) => write!(text, " {key}={value}"),
                Value::Uint64(value) => write!(text, " {key}={value}"),
                Value::Double(value) => write!(text, " {key}={value}"),
                other => write!(text, " {key}={other:?}"),
            };
        }
        callsite.point.write_log(text);
    });
}

thread_local! {
    static TEXT: Cell<String> = const { Cell::new(String::new()) };
}

/// Calls `act` with memory for a text.
fn with_text(act: impl FnOnce(&mut String)) {
    let mut text = TEXT.try_with(Cell::take).unwrap_or_default();
    text.clear();
    act(&mut text);
    if text.capacity() <= KEPT_TEXT {
        let _thread_ends = TEXT.try_with(|kept| kept.set(text));
    }
}
