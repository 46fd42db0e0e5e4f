//! The common members of events: name, process, thread, time and ids.

use trace_format::layout::ARTIFICIAL_KOID_BIT;
use trace_format::ThreadKoids;

use super::draft::{Draft, Part};
use super::ids::{decimal, hash, hexadecimal, plain_id};
use crate::json_error::Problem;
use crate::tef::event::Event;
use crate::tef::field::Field;
use crate::tef::scan::Scanner;
use crate::tef::value::Value;

/// The common fields of event records.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) name: Part<'a>,
    pub(super) category: Part<'a>,
    pub(super) thread: ThreadKoids,
    /// The time in nanoseconds.
    pub(super) ticks: u64,
}

/// The scope of an event's id in FXT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Global.
    All,
    /// Local to the process.
    Process,
}

/// An id in FXT.
#[derive(Debug, Clone, Copy)]
pub(super) struct Id {
    pub(super) number: u64,
    /// Whether the document defines it as local to its process.
    pub(super) is_local: bool,
}

// Inlined, because their field is a constant: each event has most of them.
impl<'a> Draft<'a> {
    /// Returns a name or category; the empty string if there is none.
    #[inline(always)]
    pub(super) fn label(&mut self, field: Field) -> Part<'a> {
        match self.event.get(field) {
            None => return Part::EMPTY,
            Some(Value::String(text)) => {
                let part = self.text(text);
                if !self.of(part).is_empty() {
                    return part;
                }
            }
            Some(_) => {}
        }
        self.carry(field);
        Part::EMPTY
    }

    /// Returns the koid of a process or thread.
    #[inline(always)]
    pub(super) fn koid(&mut self, field: Field) -> u64 {
        let Some(value) = self.event.get(field) else {
            self.lack(field);
            return 0;
        };
        plain_koid(value).unwrap_or_else(|| {
            self.carry(field);
            numeric_value(value).unwrap_or_else(|| artificial_koid(value))
        })
    }

    /// Returns a time or a length.
    #[inline(always)]
    pub(super) fn nanos(&mut self, field: Field) -> Option<u64> {
        let Some(value) = self.event.get(field) else {
            self.lack(field);
            return None;
        };
        if let Value::Number(number) = value {
            if let Some((nanos, true)) = number.to_nanos() {
                return Some(nanos);
            }
        }
        self.carry(field);
        Event::nanos(value)
    }

    /// Returns the id of an event, which may be in several members; `None` if it has none. The same
    /// id gets the same number in any notation.
    ///
    /// FXT has no scopes of ids: ids within a `scope` get numbers of their own, and so do local ids
    /// if the event's ids are global in FXT.
    pub(super) fn id(&mut self, process: u64, reach: Reach) -> Option<Id> {
        let (id, id2) = (self.event.get(Field::Id), self.event.other("id2"));
        let scope = self.event.other("scope");
        if let (Some(Value::String(text)), None, None) = (id, scope, id2) {
            if let Some(number) = text.plain().and_then(plain_id) {
                return Some(Id { number, is_local: false });
            }
        }
        self.carry(Field::Id);
        let (value, is_local) = match id {
            Some(id) => (id, false),
            None => parse_id2(id2?),
        };
        let mut number = number(value);
        if let Some(scope) = scope {
            number = hash(&[&number.to_le_bytes(), scope.written().as_bytes()]);
        }
        if is_local && reach == Reach::All {
            number = hash(&[&number.to_le_bytes(), b"process", &process.to_le_bytes()]);
        }
        Some(Id { number, is_local })
    }

    /// Returns the id of an event like [`Draft::id`], and 0 if it lacks one.
    pub(super) fn required_id(&mut self, process: u64, reach: Reach) -> Id {
        self.id(process, reach).unwrap_or_else(|| {
            self.lack(Field::Id);
            Id { number: 0, is_local: false }
        })
    }
}

/// Returns an id of a process or thread that is a koid unchanged.
#[inline]
pub(super) fn plain_koid(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Number(number) => number.to_u64().filter(|koid| *koid <= u64::from(u32::MAX)),
        _ => None,
    }
}

/// Returns the numeric value of a process or thread id. For Trace Viewer, `1.0` and `"1"` equal 1,
/// but `"1.0"` does not.
fn numeric_value(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Number(number) => number.to_whole(),
        Value::String(text) => decimal(text.plain()?),
        _ => None,
    }
}

/// Returns a koid for a process or thread id that is not a number. Viewers truncate koids to 32
/// bits.
fn artificial_koid(value: Value<'_>) -> u64 {
    ARTIFICIAL_KOID_BIT | (hash(&[value.written().as_bytes()]) & u64::from(u32::MAX))
}

/// Returns the id in `id2`, and whether it is local to the process.
fn parse_id2(id2: Value<'_>) -> (Value<'_>, bool) {
    let Value::Nested(json) = id2 else {
        return (id2, false);
    };
    let mut scanner = Scanner::new(json.as_bytes(), 0);
    let mut member = |before| {
        scanner.expect(before, Problem::Key).ok()?;
        let (key, _) = scanner.key().ok()?;
        Some((key.of(json), Value::of(json, scanner.value().ok()?)))
    };
    let mut before = b'{';
    while let Some((key, value)) = member(before) {
        match key {
            "local" => return (value, true),
            "global" => return (value, false),
            _ => before = b',',
        }
    }
    (id2, false)
}

/// Returns the numeric value of an id, or a hash of its text.
fn number(id: Value<'_>) -> u64 {
    match id {
        Value::Number(number) => number.to_whole(),
        Value::String(text) => {
            let text = text.to_str();
            let number = hexadecimal(&text).or_else(|| decimal(&text));
            return number.unwrap_or_else(|| hash(&[text.as_bytes()]));
        }
        _ => None,
    }
    .unwrap_or_else(|| hash(&[id.written().as_bytes()]))
}
