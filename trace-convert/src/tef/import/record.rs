//! The record that an event becomes.

use trace_format::layout::{InstantScope, ObjectType, MAX_ARGUMENTS};
use trace_format::{
    Argument, Event as FxtEvent, EventKind, KernelObject, Process, Record, Text as FxtText, Thread,
    ThreadKoids, UserspaceObject, Value as Fxt,
};

use super::draft::{Draft, DraftBuffers, Part};
use super::head::{self, Absent, Head, Reach};
use super::operations::Operations;
use super::time::Time;
use crate::tef::event::{Event, Phase};
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
        let mut draft = Draft::new(buffers);
        draft.fits = !event.parsed.is_repeated && has_no_repeated_keys(event);
        let phase = event.phase();
        let label = match (phase, event.name()) {
            (Phase::Metadata, Some(Value::String(name))) => object_name(&mut draft, event, name),
            _ => Kind::None,
        };
        let mut absent = Absent::default();
        let is_name = matches!(label, Kind::Process(_) | Kind::Thread(_));
        arguments(&mut draft, event, is_name);
        let mut head = head(&mut draft, event, phase, &label, &mut absent, time);
        let kind = match label {
            Kind::None => kind(&mut draft, event, phase, &mut head, &mut absent, operations),
            label => {
                for (key, value) in
                    [("id", event.id()), ("dur", event.duration()), ("s", event.scope())]
                {
                    carried(&mut draft, key, value, ());
                }
                label
            }
        };
        let implies_binding = matches!(kind, Kind::Event(EventKind::FlowEnd { .. }));
        for (key, value) in event.others() {
            if implies_binding && !absent.binding && key.to_str() == "bp" {
                continue;
            }
            // A key with escapes may be that of a member with a method.
            draft.fits &= key.plain().is_some() || !is_own_field(&key.to_str());
            draft.member(key, value);
        }
        absent.note(&mut draft);
        // A name without a process or thread must be carried as JSON.
        draft.fits &= !is_name || !(absent.process || absent.thread);
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

/// Returns whether [`Event`] has a method for the member.
fn is_own_field(key: &str) -> bool {
    matches!(key, "name" | "cat" | "ph" | "ts" | "dur" | "pid" | "tid" | "id" | "s" | "args")
}

/// Returns whether all keys are distinct: a list of arguments cannot express repeated keys.
#[inline]
fn has_no_repeated_keys(event: &Event<'_>) -> bool {
    let parsed = event.parsed;
    if parsed.arguments.len() + parsed.others.len() > MAX_ARGUMENTS {
        return false;
    }
    is_distinct(event.arguments().map(|(key, _)| key))
        && is_distinct(event.others().map(|(key, _)| key))
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
fn object_name<'a>(draft: &mut Draft<'a>, event: &Event<'a>, what: Text<'a>) -> Kind<'a> {
    let is_process = match what.plain() {
        Some("process_name") => true,
        Some("thread_name") => false,
        _ => return Kind::None,
    };
    let mut names = event.arguments().filter(|(key, _)| key.plain() == Some("name"));
    let Some((_, Value::String(name))) = names.next() else {
        return Kind::None;
    };
    let name = draft.text(name);
    match is_process {
        true => Kind::Process(name),
        false => Kind::Thread(name),
    }
}

#[inline]
fn arguments<'a>(draft: &mut Draft<'a>, event: &Event<'a>, is_name: bool) {
    match event.args() {
        None => return,
        Some(Value::Nested(json)) if json.starts_with('{') => {}
        Some(value) => return draft.known_member("args", value),
    }
    if event.parsed.arguments.is_empty() {
        return draft.own(EMPTY_ARGS, Fxt::Null);
    }
    for (key, value) in event.arguments() {
        if !is_name || key.plain() != Some("name") {
            draft.argument(key, value);
        }
    }
}

#[inline]
fn head<'a>(
    draft: &mut Draft<'a>,
    event: &Event<'a>,
    phase: Phase,
    label: &Kind<'a>,
    absent: &mut Absent,
    time: &mut Time,
) -> Head<'a> {
    let is_name = !matches!(label, Kind::None);
    let name = match is_name {
        true => Part::EMPTY,
        false => head::label(draft, "name", event.name()),
    };
    let process = head::koid(draft, "pid", event.process(), &mut absent.process);
    let is_object =
        matches!(phase, Phase::ObjectCreated | Phase::ObjectSnapshot | Phase::ObjectDestroyed);
    // Members that the record cannot express are carried.
    let category = match is_name || is_object {
        true => carried(draft, "cat", event.category(), Part::EMPTY),
        false => head::label(draft, "cat", event.category()),
    };
    let thread = match is_object || matches!(label, Kind::Process(_)) {
        true => carried(draft, "tid", event.thread(), process),
        false => head::koid(draft, "tid", event.thread(), &mut absent.thread),
    };
    let ticks = match is_name || is_object {
        true => carried(draft, "ts", event.timestamp(), time.now),
        false => time.of(draft, event.timestamp(), &mut absent.timestamp),
    };
    if let Kind::Thread(_) = label {
        draft.own("process", Fxt::Koid(process));
    }
    Head { name, category, thread: ThreadKoids::new(process, thread), ticks }
}

/// Carries a member that the record cannot express, and returns `stand_in` for it.
fn carried<'a, T>(
    draft: &mut Draft<'a>,
    key: &'static str,
    value: Option<Value<'a>>,
    stand_in: T,
) -> T {
    if let Some(value) = value {
        draft.known_member(key, value);
    }
    stand_in
}

#[inline]
fn kind<'a>(
    draft: &mut Draft<'a>,
    event: &Event<'a>,
    phase: Phase,
    head: &mut Head<'a>,
    absent: &mut Absent,
    operations: &mut Operations,
) -> Kind<'a> {
    use EventKind as Fxt;
    let process = head.thread.process;
    let kind = match phase {
        Phase::DurationBegin => Fxt::DurationBegin,
        Phase::DurationEnd => Fxt::DurationEnd,
        Phase::Complete => Fxt::DurationComplete { end: end(draft, event, head.ticks, absent) },
        Phase::Counter => Fxt::Counter { id: counter_id(draft, event, process) },
        Phase::AsyncBegin | Phase::AsyncInstant | Phase::AsyncEnd => {
            let id = head::id(draft, event, &mut absent.id, process, Reach::Process);
            let kind = match phase {
                Phase::AsyncBegin => Fxt::AsyncBegin { id: id.number },
                Phase::AsyncInstant => Fxt::AsyncInstant { id: id.number },
                _ => Fxt::AsyncEnd { id: id.number },
            };
            operations.note(draft, event, head, absent, (kind, id));
            kind
        }
        Phase::FlowBegin => Fxt::FlowBegin { id: flow_id(draft, event, process, absent) },
        Phase::FlowStep => Fxt::FlowStep { id: flow_id(draft, event, process, absent) },
        Phase::FlowEnd => {
            absent.binding = !binds_to_enclosing(event);
            Fxt::FlowEnd { id: flow_id(draft, event, process, absent) }
        }
        Phase::ObjectCreated | Phase::ObjectSnapshot | Phase::ObjectDestroyed => {
            return object(draft, event, process, absent);
        }
        Phase::Metadata | Phase::Other => return Kind::None,
        _ => Fxt::Instant { scope: scope(draft, event) },
    };
    members_of_others(draft, event, &kind);
    Kind::Event(kind)
}

/// Returns whether a flow ends at the enclosing duration, as in FXT, and not at the next one.
fn binds_to_enclosing(event: &Event<'_>) -> bool {
    event.other("bp") == Some(Value::String(Text::new("e", false)))
}

fn flow_id<'a>(draft: &mut Draft<'a>, event: &Event<'a>, process: u64, absent: &mut Absent) -> u64 {
    head::id(draft, event, &mut absent.id, process, Reach::All).number
}

fn object<'a>(
    draft: &mut Draft<'a>,
    event: &Event<'a>,
    process: u64,
    absent: &mut Absent,
) -> Kind<'a> {
    let id = head::id(draft, event, &mut absent.id, process, Reach::Process).number;
    if let Some(letter) = event.letter() {
        draft.known_member("ph", letter);
    }
    for (key, value) in [("dur", event.duration()), ("s", event.scope())] {
        carried(draft, key, value, ());
    }
    Kind::Object(id)
}

/// Carries the members that only records of other kinds express, and `ph` if the record does not
/// imply it.
#[inline]
fn members_of_others<'a>(draft: &mut Draft<'a>, event: &Event<'a>, kind: &EventKind) {
    use EventKind as Fxt;
    let letter = match kind {
        Fxt::Instant { .. } => "i",
        Fxt::AsyncBegin { .. } => "b",
        Fxt::AsyncInstant { .. } => "n",
        Fxt::AsyncEnd { .. } => "e",
        _ => "",
    };
    if !letter.is_empty() {
        let own = event.letter().filter(|own| *own != Value::String(Text::new(letter, false)));
        carried(draft, "ph", own, ());
    }
    if !matches!(kind, Fxt::DurationComplete { .. }) {
        carried(draft, "dur", event.duration(), ());
    }
    if !matches!(kind, Fxt::Instant { .. }) {
        carried(draft, "s", event.scope(), ());
    }
    if matches!(
        kind,
        Fxt::Instant { .. } | Fxt::DurationBegin | Fxt::DurationEnd | Fxt::DurationComplete { .. }
    ) {
        carried(draft, "id", event.id(), ());
    }
}

fn end<'a>(draft: &mut Draft<'a>, event: &Event<'a>, ticks: u64, absent: &mut Absent) -> u64 {
    let length = head::nanos(draft, "dur", event.duration(), &mut absent.duration);
    match ticks.checked_add(length.unwrap_or(0)) {
        Some(end) => end,
        None => {
            draft.fits = false;
            u64::MAX
        }
    }
}

/// Returns the id of a counter, 0 if it has none. An id 0 is carried.
fn counter_id<'a>(draft: &mut Draft<'a>, event: &Event<'a>, process: u64) -> u64 {
    head::id(draft, event, &mut false, process, Reach::Process).number
}

/// Returns the scope of an instant.
fn scope<'a>(draft: &mut Draft<'a>, event: &Event<'a>) -> Option<InstantScope> {
    let value = event.scope()?;
    if let Value::String(text) = value {
        match text.plain() {
            Some("t") => return Some(InstantScope::Thread),
            Some("p") => return Some(InstantScope::Process),
            Some("g") => return Some(InstantScope::Global),
            _ => {}
        }
    }
    draft.known_member("s", value);
    None
}
