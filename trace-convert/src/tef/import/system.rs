//! The member `systemTraceEvents`, as scheduling records.
//!
//! The archive carries the text like every member, and has records for readers of FXT in addition.
//! They follow all events, because events define the processes and names of threads and the offset
//! of the text's clock.

use std::collections::{HashMap, HashSet};

use trace_format::layout::{ObjectType, ARTIFICIAL_KOID_BIT};
use trace_format::{Argument, EventKind, ThreadKoids, Value as Fxt, WriteError};

use super::fuchsia;
use super::record::{Kind, Plan};
use super::{name_object, Archive, MAX_NAMED};
use crate::tef::event::Event;
use crate::tef::field::Field;
use crate::tef::reader::Member;
use crate::tef::value::Value;
use trace_analyze::carried::ADDED;
use trace_kernel::ftrace::DocumentText;

/// The number of threads in the cache of recent threads.
const RECENT: usize = 64;

/// The text of ftrace, and the data of events that its conversion needs.
#[derive(Debug)]
pub(super) struct System {
    texts: Vec<String>,
    /// The objects that Fuchsia writes instead.
    objects: Vec<String>,
    /// The times of `clock_sync`, in nanoseconds, by their id.
    syncs: HashMap<Box<str>, u64>,
    /// The process of each thread with an event.
    processes: HashMap<u64, u64>,
    /// A cache of threads that are in `processes`.
    recent: [ThreadKoids; RECENT],
    /// Threads that the document gives a name.
    named: HashSet<u64>,
}

impl Default for System {
    fn default() -> Self {
        Self {
            texts: Vec::new(),
            objects: Vec::new(),
            syncs: HashMap::new(),
            processes: HashMap::new(),
            recent: [ThreadKoids::UNKNOWN; RECENT],
            named: HashSet::new(),
        }
    }
}

impl System {
    /// Keeps the text if the member is `systemTraceEvents`.
    pub(super) fn member(&mut self, member: &Member<'_>) {
        match member.value {
            _ if member.key.to_str() != "systemTraceEvents" => {}
            Value::String(text) => self.texts.push(text.to_str().into_owned()),
            Value::Nested(json) => self.objects.push(json.to_owned()),
            _ => {}
        }
    }

    /// Records the data of an event that the text needs.
    #[inline]
    pub(super) fn event(&mut self, event: &Event<'_>, plan: &Plan<'_>) {
        let koids = plan.head.thread;
        match plan.kind {
            Kind::Event(kind) => {
                if self.recent.get(koids.thread as usize % RECENT) != Some(&koids) {
                    self.thread(koids);
                }
                if matches!(kind, EventKind::Instant { .. }) && event.phase() == Some('c') {
                    self.sync(event);
                }
            }
            Kind::Thread(_) if self.named.len() < MAX_NAMED => {
                self.named.insert(koids.thread);
                self.thread(koids);
            }
            _ => {}
        }
    }

    #[cold]
    fn thread(&mut self, koids: ThreadKoids) {
        if let Some(recent) = self.recent.get_mut(koids.thread as usize % RECENT) {
            *recent = koids;
        }
        let is_kernel_id = (koids.thread | koids.process) & ARTIFICIAL_KOID_BIT == 0;
        if is_kernel_id && koids.thread != 0 && self.processes.len() < MAX_NAMED {
            self.processes.entry(koids.thread).or_insert(koids.process);
        }
    }

    /// Records the time of a `clock_sync`. With `issue_ts`, it is the middle of the request and the
    /// reply.
    #[cold]
    fn sync(&mut self, event: &Event<'_>) {
        let argument = |key| event.arguments().find(|(name, _)| name.to_str() == key);
        let id = argument("sync_id").map(|(_, value)| value);
        let time = event.get(Field::Timestamp).and_then(Event::nanos);
        if let (Some(Value::String(id)), Some(time)) = (id, time) {
            let issued = argument("issue_ts").and_then(|(_, issued)| Event::nanos(issued));
            let time = issued.map_or(time, |issued| issued.midpoint(time));
            if self.syncs.len() < MAX_NAMED {
                self.syncs.entry(id.to_str().into()).or_insert(time);
            }
        }
    }

    /// Returns the process of a thread that has had an event.
    pub(super) fn process_of(&self, thread: u64) -> Option<u64> {
        self.processes.get(&thread).copied()
    }

    /// Writes the records, with `shift` nanoseconds added to times. Returns the number of
    /// scheduling records.
    pub(super) fn finish(&mut self, writer: &mut Archive, shift: u64) -> Result<u64, WriteError> {
        let mut count = 0;
        for text in std::mem::take(&mut self.texts) {
            let text = DocumentText::new(&text, |id| self.syncs.get(id).copied());
            self.names(writer, &text)?;
            count += text.write_scheduling(writer, shift, Argument::new(ADDED, Fxt::Bool(true)))?;
        }
        for json in std::mem::take(&mut self.objects) {
            count += fuchsia::records(writer, &json, shift)?;
        }
        Ok(count)
    }

    /// Names the threads that the document does not name.
    fn names(&self, writer: &mut Archive, text: &DocumentText<'_>) -> Result<(), WriteError> {
        for (koid, name, process) in text.threads().filter(|(koid, ..)| !self.named.contains(koid))
        {
            let process = self.process_of(koid).or(process);
            name_object(writer, (ObjectType::THREAD, koid), name, process)?;
        }
        Ok(())
    }
}
