//! Events: instants, or log records.

use std::cell::Cell;
use std::fmt::Write;

use trace_runtime::context::{scope, Value};
use trace_runtime::InstantScope;
use tracing_core::Event;

use crate::callsite::{short_path, Callsite};
use crate::callsites;
use crate::targets::{self, Target};
use crate::values::{with_spare, ValueVisitor, Values, KEPT_TEXT};

/// The form in which events are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Instant,
    Log,
}

/// Records an event.
#[inline]
pub(crate) fn record(event: &Event<'_>, form: Form) {
    let Some(callsite) = callsites::of(event.metadata()) else { return };
    if let Some(target) = callsite.target {
        return record_of_log(event, callsite, target, form);
    }
    if !callsite.point.is_on() {
        return;
    }
    with_spare(|values| {
        event.record(&mut ValueVisitor::new(callsite, values));
        match form {
            Form::Instant => write_instant(callsite, values),
            Form::Log => write_log(callsite, values),
        }
    });
}

/// Records a message of `log` that arrives through `tracing-log`: as an event of its target with
/// only a message.
fn record_of_log(event: &Event<'_>, callsite: &'static Callsite, target: usize, form: Form) {
    with_spare(|values| {
        event.record(&mut ValueVisitor::new(callsite, values));
        let Some(target) = targets::of(values.text(target)).filter(|target| target.point.is_on())
        else {
            return;
        };
        let message = values.first_text();
        match form {
            Form::Instant => write_message(callsite, target, values),
            Form::Log => with_text(|text| {
                let level = callsite.metadata.level();
                let _endless = write!(text, "{level} {}: {message}", target.name);
                target.point.write_log(text);
            }),
        }
    });
}

fn write_instant(callsite: &Callsite, values: &Values) {
    let mut arguments = values.arguments();
    callsite.add_site(&mut arguments);
    callsite.point.write(&arguments, &[scope(InstantScope::Thread)]);
}

/// Writes the instant of a message of `log`. Its call site is in the values.
fn write_message(callsite: &Callsite, target: &Target, values: &Values) {
    let (file, line) = (values.named(callsite, "log.file"), values.named(callsite, "log.line"));
    let arguments = [
        Value::Str(values.first_text()),
        Value::Str(callsite.metadata.level().as_str()),
        file.unwrap_or(Value::Omitted),
        line.unwrap_or(Value::Omitted),
    ];
    with_text(|name| {
        let _endless = match (file, line) {
            (Some(Value::Str(file)), Some(Value::Uint64(line))) => {
                write!(name, "{}:{line}", short_path(file))
            }
            _ => write!(name, "{}", target.name),
        };
        target.point.write_named(name, &arguments, &[scope(InstantScope::Thread)]);
    });
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
