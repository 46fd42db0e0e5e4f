//! Names of arguments and blobs for data of JSON that FXT cannot express.
//!
//! `docs/trace-event-format.md` describes them.

use trace_format::{Arguments, Item, Value};

use crate::arguments;

/// The prefix of these names.
pub const PREFIX: &str = "tef:";

/// The prefix of an argument with a member of the event: its key follows, the value is JSON.
pub const JSON: &str = "tef:json:";

/// The prefix of an argument with a member of `args`: its key follows, the value is JSON.
pub const ARGUMENT: &str = "tef:arg:";

/// An argument: `args` is present and empty.
pub const EMPTY_ARGS: &str = "tef:args";

/// An argument: the members that the event does not have although the record has them, separated by
/// commas.
pub const ABSENT: &str = "tef:absent";

/// The process whose threads are CPUs. Linux has no such pid; it is the largest that viewers
/// accept.
pub const CPUS: u64 = u32::MAX as u64;

/// An argument: the record was added for viewers and is not part of the document. A member of an
/// event on a CPU: it was added for viewers, and its source is `systemTraceEvents`. A blob: such an
/// event.
pub const ADDED: &str = "tef:added";

/// A blob: the next records of this provider are a document of the form `array` or `object`.
pub const DOCUMENT: &str = "tef:document";

/// A blob: an event as JSON.
pub const EVENT: &str = "tef:event";

/// A blob: the next counter shows the event in the previous blob. A counter cannot have [`ADDED`]:
/// readers take each argument of a counter for a series.
pub const SHOWN: &str = "tef:shown";

/// A blob: the nanoseconds that the archive adds to the times of the document, in decimal.
pub const SHIFT: &str = "tef:shift";

/// A blob: a member of the document, key and value, as JSON.
pub const MEMBER: &str = "tef:member";

/// A blob: continues the previous blob.
pub const MORE: &str = "tef:more";

/// Returns whether an argument with this name is data of JSON and not an argument of the event.
#[inline]
pub fn is_carried(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Returns whether the event of JSON has no member `key`, although its record has it.
pub fn lacks(item: &Item<'_>, arguments: &Arguments<'_>, key: &str) -> bool {
    arguments::named(item, arguments, ABSENT).any(|value| match value {
        Value::String(keys) => item.text(keys).split(',').any(|absent| absent == key),
        _ => false,
    })
}

/// Returns whether a member's key is not unique after [`PREFIX`].
pub fn is_reserved(key: &str) -> bool {
    let own = [EMPTY_ARGS, ABSENT, ADDED, DOCUMENT, EVENT, SHOWN, SHIFT, MEMBER, MORE];
    let is_own = own.iter().any(|name| name.get(PREFIX.len()..) == Some(key));
    is_own || key.starts_with("json:") || key.starts_with("arg:")
}
