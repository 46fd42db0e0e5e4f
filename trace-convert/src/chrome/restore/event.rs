//! Restores events of documents.

use trace_format::layout::{InstantScope, ObjectType};
use trace_format::{
    Arguments, Event, EventKind, Item, KernelObject, Record, UserspaceObject, Value,
};

use super::overrides::{Carried, Overrides, Use};
use crate::chrome::arguments::ID_REF;
use crate::chrome::event::{phase, scope_letter};
use crate::chrome::exporter::JsonExporter;
use crate::chrome::json::Json;
use crate::tef::{scan, Field};
use trace_analyze::arguments;

/// The members of an event that its record expresses.
#[derive(Debug, Default)]
struct Own<'a> {
    phase: &'static str,
    process: Option<u64>,
    thread: Option<u64>,
    category: Option<&'a str>,
    name: Option<&'a str>,
    nanos: Option<i128>,
    duration: Option<u64>,
    id: Option<u64>,
    /// The slice that a flow end binds to.
    binding: Option<&'static str>,
    scope: Option<InstantScope>,
    /// The first argument, `name`, of a name of a process or thread.
    label: Option<&'a str>,
}

impl JsonExporter {
    /// Restores the event of a record; returns `false` if the record was not made of an event.
    pub(super) fn restore(&mut self, item: &Item<'_>) -> bool {
        match &item.record {
            Record::Event(event) => self.restore_event(item, event),
            Record::UserspaceObject(object) => self.restore_object(item, object),
            Record::KernelObject(object) => return self.restore_name(item, object),
            // A document has stacks in events, and samples.
            Record::Backtrace(_) => return self.documents.is_restored(),
            // A document has scheduling events as text.
            Record::ContextSwitch(_) | Record::ThreadWakeup(_) => {
                let is_added = Overrides::of(item, &item.record.arguments()).is_added;
                return is_added && self.documents.is_restored();
            }
            _ => return false,
        }
        true
    }

    fn restore_event<'a>(&mut self, item: &Item<'a>, event: &Event<'a>) {
        let nanos = item.nanos(event.ticks);
        let thread = item.thread(event.thread);
        let (category, name) = (item.text(event.category), item.text(event.name));
        let mut own = Own {
            phase: phase(event.kind),
            process: Some(thread.process),
            thread: Some(thread.thread),
            category: Some(&category),
            name: Some(&name),
            nanos: Some(self.documents.time(item, nanos)),
            id: event.kind.id(),
            ..Own::default()
        };
        match event.kind {
            EventKind::DurationComplete { end } => {
                own.duration = Some(item.nanos(end).saturating_sub(nanos));
            }
            EventKind::Counter { id: 0 } => own.id = None,
            EventKind::Instant { scope } => own.scope = scope,
            EventKind::FlowEnd { .. } => own.binding = Some("e"),
            _ => {}
        }
        self.restored(item, &own, &event.arguments);
        self.pass(nanos);
    }

    fn restore_object<'a>(&mut self, item: &Item<'a>, object: &UserspaceObject<'a>) {
        let name = item.text(object.name);
        let own = Own {
            phase: "O",
            process: Some(item.process(object.process)),
            name: Some(&name),
            id: Some(object.pointer),
            ..Own::default()
        };
        self.restored(item, &own, &object.arguments);
    }

    fn restore_name<'a>(&mut self, item: &Item<'a>, object: &KernelObject<'a>) -> bool {
        let label = item.text(object.name);
        let is_process = match object.object_type {
            ObjectType::PROCESS => true,
            ObjectType::THREAD => false,
            _ => return false,
        };
        let process = match is_process {
            true => Some(object.koid),
            false => arguments::process_of(item, object),
        };
        let own = Own {
            phase: "M",
            process,
            thread: (!is_process).then_some(object.koid),
            name: Some(if is_process { "process_name" } else { "thread_name" }),
            label: Some(&label),
            ..Own::default()
        };
        self.restored(item, &own, &object.arguments);
        true
    }

    #[inline]
    fn restored<'a, 'b>(&mut self, item: &Item<'a>, own: &Own<'b>, arguments: &Arguments<'a>) {
        let overrides = Overrides::of(item, arguments);
        if overrides.is_added {
            return;
        }
        self.begin_event();
        self.json.raw("{\"ph\":");
        match overrides.get(Field::Phase) {
            Some(value) => self.carried(item, value),
            None => self.json.plain(own.phase),
        }
        let non_empty = |text: &&str| !text.is_empty();
        let id = own.id.filter(|_| !overrides.has_id2);
        let mut members = Members { item, overrides: &overrides, exporter: self };
        members.add(Field::Process, own.process, Json::unsigned);
        members.add(Field::Thread, own.thread, Json::unsigned);
        members.add(Field::Category, own.category.filter(non_empty), Json::string);
        members.add(Field::Name, own.name.filter(non_empty), Json::string);
        members.add(Field::Timestamp, own.nanos, Json::signed_micros);
        members.add(Field::Duration, own.duration, Json::short_micros);
        members.add(Field::Id, id, Json::hex);
        members.add(Field::Binding, own.binding, Json::plain);
        members.add(Field::Scope, own.scope.map(scope_letter), Json::plain);
        if overrides.has_others {
            self.others(item, arguments);
        }
        if overrides.has_arguments || own.label.is_some() {
            self.restored_arguments(item, own, arguments);
        }
        self.end();
    }

    /// Adds the members that only arguments carry.
    fn others<'a>(&mut self, item: &Item<'a>, arguments: &Arguments<'a>) {
        for argument in arguments {
            if let Use::Member(key, value) = Use::of(item, argument) {
                if !Overrides::has_place(&key) {
                    self.carried_member(item, &key, &value);
                }
            }
        }
    }

    fn restored_arguments<'a>(&mut self, item: &Item<'a>, own: &Own<'_>, list: &Arguments<'a>) {
        self.begin_arguments();
        if let Some(label) = own.label {
            self.json.key("name").string(label);
        }
        let mut is_named = own.phase == "M";
        for argument in list {
            // The first argument `process` is the thread's process, not a member of `args`.
            if is_named && arguments::named_process(item, argument).is_some() {
                is_named = false;
                continue;
            }
            if let Use::Argument(key, value) = Use::of(item, argument) {
                self.json.key(&key);
                self.carried(item, &value);
            }
        }
        self.end_arguments();
    }

    fn member_key(&mut self, key: &str) {
        self.json.raw(",");
        self.json.string(key);
        self.json.raw(":");
    }

    fn carried_member<'a>(&mut self, item: &Item<'a>, key: &str, value: &Carried<'a>) {
        self.member_key(key);
        self.carried(item, value);
    }

    #[inline]
    fn carried<'a>(&mut self, item: &Item<'a>, carried: &Carried<'a>) {
        match carried {
            // A number of JSON stays a number, whatever its size.
            Carried::Plain(Value::Int64(value)) => self.json.signed(*value),
            Carried::Plain(Value::Uint64(value)) => self.json.unsigned(*value),
            // Only references to objects become pointers.
            Carried::Plain(value @ Value::Pointer(_)) => {
                self.json.raw(ID_REF);
                self.value(item, *value);
                self.json.raw("}");
            }
            Carried::Plain(value) => self.value(item, *value),
            Carried::Json(json) if scan::is_value(json) => self.json.raw(json),
            Carried::Json(text) => self.json.string(text),
        }
    }
}

/// Adds the members of an event that its record expresses, or carries instead.
struct Members<'e, 'a> {
    item: &'e Item<'a>,
    overrides: &'e Overrides<'a>,
    exporter: &'e mut JsonExporter,
}

impl<'a> Members<'_, 'a> {
    /// Adds a field: the carried one, or else the record's own.
    #[inline]
    fn add<T>(&mut self, field: Field, own: Option<T>, write: impl FnOnce(&mut Json, T)) {
        match (self.overrides.get(field), own) {
            (Some(value), _) => self.exporter.carried_member(self.item, field.key(), value),
            (None, Some(own)) if !self.overrides.is_absent(field) => {
                // The keys of fields need no escapes.
                let json = &mut self.exporter.json;
                json.raw(",");
                json.plain(field.key());
                json.raw(":");
                write(json, own);
            }
            _ => {}
        }
    }
}
