//! Arguments with a conventional name or type.

mod condition;

use serde_json::{json, Map, Value as Json};
use trace_format::{Argument, Arguments, Item, KernelObject, Value};

pub use condition::{Condition, Met, MAX_CONDITIONS};

use crate::{exact, MAX_SAFE_INTEGER};

/// Returns the values of the arguments with this name.
pub fn named<'a>(
    item: &'a Item<'_>,
    arguments: &Arguments<'a>,
    name: &'a str,
) -> impl Iterator<Item = Value<'a>> + 'a {
    let named = arguments.iter().filter(move |argument| item.text(argument.name) == name);
    named.map(|argument| argument.value)
}

/// Returns the value of the first argument with this name that is an integer and not negative.
pub fn named_unsigned<'a>(
    item: &'a Item<'_>,
    arguments: &Arguments<'a>,
    name: &'a str,
) -> Option<u64> {
    named(item, arguments, name).find_map(|value| unsigned(item, value))
}

/// Returns an integer that is not negative. Archives made of JSON have integers beyond 2^53 as
/// strings.
pub fn unsigned<'a>(item: &Item<'a>, value: Value<'a>) -> Option<u64> {
    match value {
        Value::String(text) => item.text(text).parse().ok(),
        value => value.unsigned(),
    }
}

/// Returns a value as JSON: integers that JavaScript would round, pointers and koids as strings,
/// and of a blob the number of its bytes.
#[must_use]
pub fn to_json(item: &Item<'_>, value: Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int32(value) => value.into(),
        Value::Uint32(value) => value.into(),
        Value::Int64(value) if value.unsigned_abs() <= MAX_SAFE_INTEGER => value.into(),
        Value::Int64(value) => value.to_string().into(),
        Value::Uint64(value) => exact(value),
        // JSON has neither infinity nor NaN.
        Value::Double(value) if !value.is_finite() => value.to_string().into(),
        Value::Double(value) => value.into(),
        Value::String(text) => item.text(text).into_owned().into(),
        Value::Pointer(value) => format!("{value:#x}").into(),
        Value::Koid(value) => value.to_string().into(),
        Value::Bool(value) => value.into(),
        Value::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
    }
}

/// Returns arguments as a JSON object. Arguments of one name are an array.
#[must_use]
pub fn to_object(arguments: &[(String, Json)]) -> Map<String, Json> {
    let mut object = Map::new();
    for (name, value) in arguments {
        match object.get_mut(name) {
            None => drop(object.insert(name.clone(), value.clone())),
            Some(Json::Array(values)) => values.push(value.clone()),
            Some(first) => *first = json!([first, value]),
        }
    }
    object
}

/// Returns whether arguments of this name are ids of operations, which are printed like other ids.
#[must_use]
pub fn is_operation_id(name: &str) -> bool {
    matches!(name, "parent" | "task" | "follows_from")
}

/// Returns the process of a thread's kernel object, if an argument has it.
pub fn process_of<'a>(item: &Item<'a>, object: &KernelObject<'a>) -> Option<u64> {
    object.arguments.iter().find_map(|argument| named_process(item, argument))
}

/// Returns the value of an argument, if that is the process of a thread.
pub fn named_process<'a>(item: &Item<'a>, argument: Argument<'a>) -> Option<u64> {
    match argument.value {
        Value::Koid(koid) if item.text(argument.name) == "process" => Some(koid),
        _ => None,
    }
}
