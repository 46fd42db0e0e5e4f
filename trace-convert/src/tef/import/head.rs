//! What all events have: where and when they happened, and ids.

use trace_format::layout::ARTIFICIAL_KOID_BIT;
use trace_format::ThreadKoids;

use super::draft::{Draft, Part};
use super::ids::{decimal, hash, hexadecimal, plain_id};
use crate::tef::error::Problem;
use crate::tef::event::Event;
use crate::tef::scan::Scanner;
use crate::tef::value::Value;
use trace_analyze::carried::ABSENT;

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
    pub(super) name: bool,
    pub(super) binding: bool,
}

impl Absent {
    pub(super) fn note(&self, draft: &mut Draft<'_>) {
        let members = [
            (self.process, "pid,"),
            (self.thread, "tid,"),
            (self.timestamp, "ts,"),
            (self.duration, "dur,"),
            (self.id, "id,"),
            (self.name, "name,"),
            (self.binding, "bp,"),
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
    plain_koid(value).unwrap_or_else(|| {
        draft.known_member(key, value);
        whole(value).unwrap_or_else(|| made_up_koid(value))
    })
}

/// Returns the koid that a process or thread is without further ado.
#[inline]
pub(super) fn plain_koid(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Number(number) => number.to_u64().filter(|koid| *koid <= u64::from(u32::MAX)),
        _ => None,
    }
}

/// Returns the number that a process or thread is. Trace Viewer takes `1.0` and
/// `"1"` for 1, but not `"1.0"`.
fn whole(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Number(number) => number.to_whole(),
        Value::String(text) => decimal(text.plain()?),
        _ => None,
    }
}

/// Returns a koid for a process or thread that has no number. Viewers cut koids
/// to 32 bits.
fn made_up_koid(value: Value<'_>) -> u64 {
    ARTIFICIAL_KOID_BIT | (hash(&[written(value).as_bytes()]) & u64::from(u32::MAX))
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

/// How far ids of a kind of event reach for readers of FXT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All events.
    All,
    /// The events of the process.
    Process,
}

/// An id as FXT has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Id {
    pub(super) number: u64,
    /// Whether it is only of its process, wherever else it comes.
    pub(super) is_local: bool,
}

/// Returns an id, of which an event can have several kinds. The same one has
/// the same number however it is written.
///
/// Readers of FXT know no scopes: those of a scope are made ids of their own,
/// and so are those of a process where readers take ids for those of all.
pub(super) fn id<'a>(
    draft: &mut Draft<'a>,
    event: &Event<'a>,
    absent: &mut bool,
    process: u64,
    reach: Reach,
) -> Id {
    let scope = event.other("scope");
    let id2 = event.other("id2");
    if let (Some(Value::String(text)), None, None) = (event.id(), scope, id2) {
        if let Some(number) = text.plain().and_then(plain_id) {
            return Id { number, is_local: false };
        }
    }
    let (value, is_local) = match (event.id(), id2) {
        (Some(id), _) => {
            draft.known_member("id", id);
            (id, false)
        }
        (None, Some(id2)) => of_id2(id2),
        (None, None) => {
            *absent = true;
            return Id { number: 0, is_local: false };
        }
    };
    let mut number = number(value);
    if let Some(scope) = scope {
        number = hash(&[&number.to_le_bytes(), written(scope).as_bytes()]);
    }
    if is_local && reach == Reach::All {
        number = hash(&[&number.to_le_bytes(), b"process", &process.to_le_bytes()]);
    }
    Id { number, is_local }
}

/// Returns what `id2` says, and whether it is of the process only.
fn of_id2(id2: Value<'_>) -> (Value<'_>, bool) {
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

/// Returns the number that an id is, or one for the text that it is.
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
    .unwrap_or_else(|| hash(&[written(id).as_bytes()]))
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
