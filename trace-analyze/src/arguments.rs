//! What arguments of records say by convention.

use trace_format::{Argument, Arguments, Item, KernelObject, Value};

/// Returns the values of the arguments with this name.
pub fn named<'a>(
    item: &'a Item<'_>,
    arguments: &Arguments<'a>,
    name: &'a str,
) -> impl Iterator<Item = Value<'a>> + 'a {
    let named = arguments.iter().filter(move |argument| item.text(argument.name) == name);
    named.map(|argument| argument.value)
}

/// Returns the argument with this name that is an integer, and not negative.
pub fn named_unsigned<'a>(
    item: &'a Item<'_>,
    arguments: &Arguments<'a>,
    name: &'a str,
) -> Option<u64> {
    named(item, arguments, name).find_map(|value| unsigned(item, value))
}

/// Returns an integer that is not negative. An archive that was JSON has those
/// beyond 2^53 as strings.
pub fn unsigned<'a>(item: &Item<'a>, value: Value<'a>) -> Option<u64> {
    match value {
        Value::String(text) => item.text(text).parse().ok(),
        value => value.unsigned(),
    }
}

/// Returns the process of a kernel object that is a thread, if an argument names it.
pub fn process_of<'a>(item: &Item<'a>, object: &KernelObject<'a>) -> Option<u64> {
    object.arguments.iter().find_map(|argument| named_process(item, argument))
}

/// Returns the process of a thread, if this argument names it.
pub fn named_process<'a>(item: &Item<'a>, argument: Argument<'a>) -> Option<u64> {
    match argument.value {
        Value::Koid(koid) if item.text(argument.name) == "process" => Some(koid),
        _ => None,
    }
}
