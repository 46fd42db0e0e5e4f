//! The record that an event becomes.

use trace_format::layout::{InstantScope, ObjectType, MAX_ARGUMENTS};
use trace_format::{
    Argument, Event as FxtEvent, EventKind, KernelObject, Process, Record, Text as FxtText, Thread,
    ThreadKoids, UserspaceObject, Value as Fxt,
};

use super::draft::{Draft, DraftBuffers, Part};
use super::head::{Head, Reach};
use super::operations::Operations;
use super::time::Time;
use crate::tef::event::Event;
use crate::tef::field::Field;
use crate::tef::value::{Text, Value};
use trace_analyze::carried::{ADDED, EMPTY_ARGS};

/// The type of record that an event becomes.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    Event(EventKind),
    /// `process_name`
    Process(Part<'a>),
    /// `thread_name`
    Thread(Part<'a>),
    /// `N`, `O` and `D`, with the id.
    Object(u64),
    /// No record of FXT.
    None,
}

/// A record in the making.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) head: Head<'a>,
    pub(super) kind: Kind<'a>,
}

impl<'a> Plan<'a> {
    /// Plans the record of an event.
    #[inline]
    pub(super) fn new(
        event: &Event<'a>,
        buffers: DraftBuffers,
        time: &mut Time,
        operations: &mut Operations,
    ) -> Self {
        let mut draft = Draft::new(*event, buffers);
        draft.fits = !event.parsed.is_repeated && has_no_repeated_keys(event);
        let phase = event.phase();
        let label = match (phase, event.get(Field::Name)) {
            (Some('M'), Some(Value::String(name))) => object_name(&mut draft, name),
            _ => Kind::None,
        };
        let is_name = matches!(label, Kind::Process(_) | Kind::Thread(_));
        arguments(&mut draft, is_name);
        let mut head = head(&mut draft, phase, &label, time);
        let kind = match label {
            Kind::None => kind(&mut draft, phase, &mut head, operations),
            label => {
                for field in [Field::Id, Field::Duration, Field::Scope] {
                    draft.carry(field);
                }
                label
            }
        };
        let is_flow_end = matches!(kind, Kind::Event(EventKind::FlowEnd { .. }));
        if !is_flow_end || draft.lacks(Field::Binding) {
            draft.carry(Field::Binding);
        }
        for (key, value) in event.others() {
            // A key with escapes may be that of a field.
            draft.fits &= key.plain().is_some() || Field::of_key(key.to_str().as_bytes()).is_none();
            draft.member(key, value);
        }
        draft.add_absent();
        // A name without a process or thread must be carried as JSON.
        draft.fits &= !is_name || !(draft.lacks(Field::Process) || draft.lacks(Field::Thread));
        if let Kind::Event(EventKind::Counter { .. }) = kind {
            draft.fits &= draft.has_only_series();
        }
        Self { draft, head, kind }
    }

    /// Changes the plan to a record that shows an event carried as JSON to viewers: with `series`,
    /// and names of at most `bytes` bytes.
    pub(super) fn shadow(&mut self, series: &[(Text<'a>, Value<'a>)], bytes: usize) {
        let Self { draft, head, kind } = self;
        draft.clear();
        head.name = draft.cut(head.name, bytes);
        head.category = draft.cut(head.category, bytes);
        match kind {
            Kind::Process(name) => *name = draft.cut(*name, bytes),
            Kind::Thread(name) => {
                *name = draft.cut(*name, bytes);
                draft.own("process", Fxt::Koid(head.thread.process));
            }
            _ => {}
        }
        for (key, value) in series {
            draft.argument(*key, *value);
        }
        if !matches!(kind, Kind::Event(EventKind::Counter { .. })) {
            draft.own(ADDED, Fxt::Bool(true));
        }
    }

    /// Returns the record, with its arguments in `buffer`.
    #[inline]
    pub(super) fn record<'b>(&'b self, buffer: &'b mut [Argument<'b>]) -> Option<Record<'b>> {
        let arguments = self.draft.arguments(buffer).into();
        let text = |part| FxtText::from(self.draft.of(part));
        let ThreadKoids { process, thread } = self.head.thread;
        Some(match self.kind {
            Kind::Event(kind) => Record::Event(FxtEvent {
                ticks: self.head.ticks,
                thread: Thread::Inline(self.head.thread),
                category: text(self.head.category),
                name: text(self.head.name),
                kind,
                arguments,
            }),
            Kind::Object(pointer) => Record::UserspaceObject(UserspaceObject {
                process: Process::Inline(process),
                pointer,
                name: text(self.head.name),
                arguments,
            }),
            Kind::Process(name) => {
                let (object_type, koid, name) = (ObjectType::PROCESS, process, text(name));
                Record::KernelObject(KernelObject { object_type, koid, name, arguments })
            }
            Kind::Thread(name) => {
                let (object_type, koid, name) = (ObjectType::THREAD, thread, text(name));
                Record::KernelObject(KernelObject { object_type, koid, name, arguments })
            }
            Kind::None => return None,
        })
    }
}

/// Returns whether all keys are distinct: a list of arguments cannot express repeated keys.
#[inline]
fn has_no_repeated_keys(event: &Event<'_>) -> bool {
    let parsed = event.parsed;
    if parsed.arguments.len() + parsed.others.len() > MAX_ARGUMENTS {
        return false;
    }
    is_distinct(event.argument_keys()) && is_distinct(event.other_keys())
}

#[inline]
fn is_distinct<'a>(mut keys: impl Iterator<Item = Text<'a>> + Clone) -> bool {
    while let Some(key) = keys.next() {
        let is_same = |other: Text<'a>| match (key.plain(), other.plain()) {
            (Some(key), Some(other)) => key == other,
            _ => key.to_str() == other.to_str(),
        };
        if keys.clone().any(is_same) {
            return false;
        }
    }
    true
}

/// Returns the name that a metadata event gives to a process or thread.
fn object_name<'a>(draft: &mut Draft<'a>, what: Text<'a>) -> Kind<'a> {
    let named = match what.plain() {
        Some("process_name") => Kind::Process,
        Some("thread_name") => Kind::Thread,
        _ => return Kind::None,
    };
    let mut names = draft.event.arguments().filter(|(key, _)| key.plain() == Some("name"));
    match names.next() {
        Some((_, Value::String(name))) => named(draft.text(name)),
        _ => Kind::None,
    }
}

#[inline]
fn arguments(draft: &mut Draft<'_>, is_name: bool) {
    match draft.event.get(Field::Args) {
        None => return,
        Some(Value::Nested(json)) if json.starts_with('{') => {}
        Some(_) => return draft.carry(Field::Args),
    }
    if draft.event.parsed.arguments.is_empty() {
        return draft.own(EMPTY_ARGS, Fxt::Null);
    }
    for (key, value) in draft.event.arguments() {
        if !is_name || key.plain() != Some("name") {
            draft.argument(key, value);
        }
    }
}

#[inline]
fn head<'a>(
    draft: &mut Draft<'a>,
    phase: Option<char>,
    label: &Kind<'a>,
    time: &mut Time,
) -> Head<'a> {
    let is_name = !matches!(label, Kind::None);
    let name = if is_name { Part::EMPTY } else { draft.label(Field::Name) };
    let process = draft.koid(Field::Process);
    let is_object = matches!(phase, Some('N' | 'O' | 'D'));
    // Members that the record cannot express are carried.
    let category = match is_name || is_object {
        true => carried(draft, Field::Category, Part::EMPTY),
        false => draft.label(Field::Category),
    };
    let thread = match is_object || matches!(label, Kind::Process(_)) {
        true => carried(draft, Field::Thread, process),
        false => draft.koid(Field::Thread),
    };
    let ticks = match is_name || is_object {
        true => carried(draft, Field::Timestamp, time.now),
        false => time.of(draft),
    };
    if let Kind::Thread(_) = label {
        draft.own("process", Fxt::Koid(process));
    }
    Head { name, category, thread: ThreadKoids::new(process, thread), ticks }
}

/// Carries a field that the record cannot express, and returns `stand_in` for it.
fn carried<T>(draft: &mut Draft<'_>, field: Field, stand_in: T) -> T {
    draft.carry(field);
    stand_in
}

#[inline]
fn kind<'a>(
    draft: &mut Draft<'a>,
    phase: Option<char>,
    head: &mut Head<'a>,
    operations: &mut Operations,
) -> Kind<'a> {
    use EventKind as Fxt;
    let process = head.thread.process;
    let kind = match phase.unwrap_or_default() {
        'B' => Fxt::DurationBegin,
        'E' => Fxt::DurationEnd,
        'X' => Fxt::DurationComplete { end: end(draft, head.ticks) },
        // An id 0 is carried.
        'C' => Fxt::Counter { id: draft.id(process, Reach::Process).map_or(0, |id| id.number) },
        // `S`, `T`, `p` and `F` are deprecated.
        letter @ ('b' | 'S' | 'n' | 'T' | 'p' | 'e' | 'F') => {
            let id = draft.required_id(process, Reach::Process);
            let kind = match letter {
                'b' | 'S' => Fxt::AsyncBegin { id: id.number },
                'e' | 'F' => Fxt::AsyncEnd { id: id.number },
                _ => Fxt::AsyncInstant { id: id.number },
            };
            operations.note(draft, head, kind, id);
            kind
        }
        letter @ ('s' | 't' | 'f') => {
            let id = draft.required_id(process, Reach::All).number;
            match letter {
                's' => Fxt::FlowBegin { id },
                't' => Fxt::FlowStep { id },
                _ => flow_end(draft, id),
            }
        }
        'N' | 'O' | 'D' => return object(draft, process),
        // An instant, which `I` also was; a sample, memory dump, mark, clock synchronization,
        // context or link of ids.
        'i' | 'I' | 'P' | 'V' | 'v' | 'R' | 'c' | '(' | ')' | '=' => {
            Fxt::Instant { scope: scope(draft) }
        }
        _ => return Kind::None,
    };
    members_of_others(draft, &kind);
    Kind::Event(kind)
}

/// Returns the end of a flow. With `"bp":"e"` it is at the enclosing duration, as in FXT, and else
/// at the next one.
fn flow_end(draft: &mut Draft<'_>, id: u64) -> EventKind {
    if draft.event.get(Field::Binding) != Some(Value::String(Text::new("e", false))) {
        draft.lack(Field::Binding);
    }
    EventKind::FlowEnd { id }
}

fn object<'a>(draft: &mut Draft<'a>, process: u64) -> Kind<'a> {
    let id = draft.required_id(process, Reach::Process).number;
    for field in [Field::Phase, Field::Duration, Field::Scope] {
        draft.carry(field);
    }
    Kind::Object(id)
}

/// Carries the fields that only records of other kinds express, and `ph` if the record does not
/// imply it.
#[inline]
fn members_of_others(draft: &mut Draft<'_>, kind: &EventKind) {
    use EventKind as Fxt;
    let letter = match kind {
        Fxt::Instant { .. } => "i",
        Fxt::AsyncBegin { .. } => "b",
        Fxt::AsyncInstant { .. } => "n",
        Fxt::AsyncEnd { .. } => "e",
        _ => "",
    };
    let implied = Some(Value::String(Text::new(letter, false)));
    if !letter.is_empty() && draft.event.get(Field::Phase) != implied {
        draft.carry(Field::Phase);
    }
    if !matches!(kind, Fxt::DurationComplete { .. }) {
        draft.carry(Field::Duration);
    }
    if !matches!(kind, Fxt::Instant { .. }) {
        draft.carry(Field::Scope);
    }
    if matches!(
        kind,
        Fxt::Instant { .. } | Fxt::DurationBegin | Fxt::DurationEnd | Fxt::DurationComplete { .. }
    ) {
        draft.carry(Field::Id);
    }
}

fn end(draft: &mut Draft<'_>, ticks: u64) -> u64 {
    let length = draft.nanos(Field::Duration).unwrap_or(0);
    ticks.checked_add(length).unwrap_or_else(|| {
        draft.fits = false;
        u64::MAX
    })
}

/// Returns the scope of an instant.
fn scope(draft: &mut Draft<'_>) -> Option<InstantScope> {
    let Some(Value::String(text)) = draft.event.get(Field::Scope) else {
        draft.carry(Field::Scope);
        return None;
    };
    match text.plain() {
        Some("t") => Some(InstantScope::Thread),
        Some("p") => Some(InstantScope::Process),
        Some("g") => Some(InstantScope::Global),
        _ => carried(draft, Field::Scope, None),
    }
}
