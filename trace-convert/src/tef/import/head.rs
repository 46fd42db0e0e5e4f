//! What all events have: where and when they happened, and ids.

use trace_format::layout::ARTIFICIAL_KOID_BIT;
use trace_format::ThreadKoids;

use super::draft::{Draft, Part};
use crate::tef::carried::ABSENT;
use crate::tef::event::Event;
use crate::tef::value::Value;

/// What all records of events have.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) name: Part<'a>,
    pub(super) category: Part<'a>,
    pub(super) thread: ThreadKoids,
    /// Nanoseconds.
    pub(super) ticks: u64,
}

/// The members that an event lacks although its record has them.
#[derive(Debug, Default)]
pub(super) struct Absent {
    pub(super) process: bool,
    pub(super) thread: bool,
    pub(super) timestamp: bool,
    pub(super) duration: bool,
    pub(super) id: bool,
}

impl Absent {
    pub(super) fn note(&self, draft: &mut Draft<'_>) {
        let members = [
            (self.process, "pid,"),
            (self.thread, "tid,"),
            (self.timestamp, "ts,"),
            (self.duration, "dur,"),
            (self.id, "id,"),
        ];
        if members.iter().all(|(is_absent, _)| !is_absent) {
            return;
        }
        let keys = members.map(|(is_absent, key)| if is_absent { key } else { "" }).concat();
        let keys = draft.format(format_args!("{}", keys.trim_end_matches(',')));
        draft.own_text(ABSENT, keys);
    }
}

/// Returns a name or category. The empty string stands for none.
#[inline]
pub(super) fn label<'a>(
    draft: &mut Draft<'a>,
    key: &'static str,
    value: Option<Value<'a>>,
) -> Part<'a> {
    let Some(value) = value else {
        return Part::EMPTY;
    };
    if let Value::String(text) = value {
        let part = draft.text(text);
        if !draft.of(part).is_empty() {
            return part;
        }
    }
    draft.known_member(key, value);
    Part::EMPTY
}

/// Returns the koid of a process or thread.
#[inline]
pub(super) fn koid<'a>(
    draft: &mut Draft<'a>,
    key: &'static str,
    value: Option<Value<'a>>,
    absent: &mut bool,
) -> u64 {
    let Some(value) = value else {
        *absent = true;
        return 0;
    };
    let number = match value {
        Value::Number(number) => number.to_u64(),
        _ => None,
    };
    match number {
        Some(koid) if koid <= u64::from(u32::MAX) => koid,
        number => {
            draft.known_member(key, value);
            number.unwrap_or_else(|| made_up_koid(value))
        }
    }
}

/// Returns a koid for a process or thread that has no number. Viewers cut koids
/// to 32 bits.
fn made_up_koid(value: Value<'_>) -> u64 {
    ARTIFICIAL_KOID_BIT | (hash(&[written(value)]) & u64::from(u32::MAX))
}

/// Returns a time or a length of time.
#[inline]
pub(super) fn nanos<'a>(
    draft: &mut Draft<'a>,
    key: &'static str,
    value: Option<Value<'a>>,
    absent: &mut bool,
) -> Option<u64> {
    let Some(value) = value else {
        *absent = true;
        return None;
    };
    if let Value::Number(number) = value {
        if let Some((nanos, true)) = number.to_nanos() {
            return Some(nanos);
        }
    }
    draft.known_member(key, value);
    Event::nanos(value)
}

/// Returns an id, of which an event can have several kinds.
///
/// Readers of FXT take an id to mean the same in all processes, and know no
/// scopes: those of a process or scope are made ids of their own.
pub(super) fn id<'a>(draft: &mut Draft<'a>, event: &Event<'a>, absent: &mut bool) -> u64 {
    let Some(id) = event.id() else {
        let id2 = event.other("id2");
        *absent = id2.is_none();
        return id2.map_or(0, |id2| hash(&[written(id2), local_process(event, id2)]));
    };
    let scope = event.other("scope");
    if let (Value::String(text), None) = (id, scope.or_else(|| event.other("id2"))) {
        if let Some(id) = text.plain().and_then(plain_id) {
            return id;
        }
    }
    draft.known_member("id", id);
    let number = match id {
        Value::Number(number) => number.to_u64(),
        Value::String(text) => hexadecimal(&text.to_str()),
        _ => None,
    };
    match scope {
        Some(scope) => hash(&[written(id), written(scope)]),
        None => number.unwrap_or_else(|| hash(&[written(id)])),
    }
}

/// Returns the process of an id that is only of its process.
fn local_process<'a>(event: &Event<'a>, id2: Value<'a>) -> &'a str {
    let is_local = matches!(id2, Value::Nested(json) if json.contains("\"local\""));
    event.process().filter(|_| is_local).map_or("", written)
}

/// Returns an id that is written as one of FXT is, and is not 0, which for a
/// counter means none.
#[inline]
fn plain_id(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let is_plain = match digits.as_bytes() {
        [b'0', ..] => false,
        digits => digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')),
    };
    is_plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    u64::from_str_radix(digits, 16).ok()
}

/// Returns a number for texts, the same in every run (FNV-1a).
fn hash(texts: &[&str]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    // No byte of UTF-8 is 0xff.
    let whole = |hash, text: &&str| step(text.bytes().fold(hash, step), 0xff);
    texts.iter().fold(0xcbf2_9ce4_8422_2325, whole)
}

fn written(value: Value<'_>) -> &str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(number) => number.written(),
        Value::String(text) => text.written(),
        Value::Nested(json) => json,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_as_fxt_has_them() {
        assert_eq!(plain_id("0x1f"), Some(0x1f));
        assert_eq!(plain_id("0xffffffffffffffff"), Some(u64::MAX));
        for other in ["0x0", "0x01", "0x1F", "1f", "0x", "0x10000000000000000", "0X1", ""] {
            assert_eq!(plain_id(other), None, "{other}");
        }
    }

    #[test]
    fn texts_are_told_apart() {
        assert_eq!(hash(&[]), 0xcbf2_9ce4_8422_2325);
        assert_ne!(hash(&["a", "b"]), hash(&["ab", ""]));
        assert_ne!(hash(&["a"]), hash(&["b"]));
    }
}
