//! What FXT has no place for, and the names under which it is carried.
//!
//! The page `docs/trace-event-format.md` says what they mean.

use trace_format::{Arguments, Item, Value};

use crate::arguments;

/// The start of all names here.
pub const PREFIX: &str = "tef:";

/// Before the key of a member of the event: an argument with its JSON.
pub const JSON: &str = "tef:json:";

/// Before a key of `args`: an argument with its JSON.
pub const ARGUMENT: &str = "tef:arg:";

/// An argument: `args` is there, and empty.
pub const EMPTY_ARGS: &str = "tef:args";

/// An argument: the members that are missing although the record has them, with
/// commas between them.
pub const ABSENT: &str = "tef:absent";

/// The process whose threads stand for CPUs: no pid of Linux, and the largest
/// that viewers take.
pub const CPUS: u64 = u32::MAX as u64;

/// An argument: the record is for viewers and not of the document. A member of
/// an event on a CPU: it is for viewers, and said by `systemTraceEvents`. A
/// blob: such an event.
pub const ADDED: &str = "tef:added";

/// A blob: what follows of this provider is a document, with its form, `array`
/// or `object`.
pub const DOCUMENT: &str = "tef:document";

/// A blob: a whole event as JSON.
pub const EVENT: &str = "tef:event";

/// A blob: the counter after it shows the event that the blob before carries. A counter cannot have
/// [`ADDED`] itself: readers take each of its arguments for a series.
pub const SHOWN: &str = "tef:shown";

/// A blob: by how many nanoseconds the times of the document are later in the archive, as decimal
/// digits.
pub const SHIFT: &str = "tef:shift";

/// A blob: a member of the document, key and value, as JSON.
pub const MEMBER: &str = "tef:member";

/// A blob: more of the blob before.
pub const MORE: &str = "tef:more";

/// Tells whether an argument with this name is no argument, but carried.
#[inline]
pub fn is_carried(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Tells whether the event that a record was lacks the member `key`, which the record has.
pub fn lacks(item: &Item<'_>, arguments: &Arguments<'_>, key: &str) -> bool {
    arguments::named(item, arguments, ABSENT).any(|value| match value {
        Value::String(keys) => item.text(keys).split(',').any(|absent| absent == key),
        _ => false,
    })
}

/// Keys of members that would be taken for something else behind the prefix.
pub fn is_reserved(key: &str) -> bool {
    let own = [EMPTY_ARGS, ABSENT, ADDED, DOCUMENT, EVENT, SHOWN, SHIFT, MEMBER, MORE];
    let is_own = own.iter().any(|name| name.strip_prefix(PREFIX) == Some(key));
    is_own || key.starts_with("json:") || key.starts_with("arg:")
}

/// Returns [`PREFIX`] with `key` behind it, for keys that come often.
#[inline]
pub fn known_member(key: &str) -> Option<&'static str> {
    Some(match key {
        "tts" => "tef:tts",
        "tdur" => "tef:tdur",
        "bp" => "tef:bp",
        "id" => "tef:id",
        "ph" => "tef:ph",
        "ts" => "tef:ts",
        "dur" => "tef:dur",
        "pid" => "tef:pid",
        "tid" => "tef:tid",
        "cat" => "tef:cat",
        "name" => "tef:name",
        "scope" => "tef:scope",
        "cname" => "tef:cname",
        "sf" => "tef:sf",
        "esf" => "tef:esf",
        "tidelta" => "tef:tidelta",
        "ticount" => "tef:ticount",
        "bind_id" => "tef:bind_id",
        "flow_in" => "tef:flow_in",
        "flow_out" => "tef:flow_out",
        "use_async_tts" => "tef:use_async_tts",
        _ => return None,
    })
}
