//! What ftrace says in a document, as scheduling records.
//!
//! The text is carried like every member; the records are added for readers of
//! FXT. They come behind all events, since these tell which process a thread is
//! of, whether it has a name, and how the clock of the text stands to theirs.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace_format::layout::{cut_str, ObjectType, ARTIFICIAL_KOID_BIT, MAX_STRING_BYTES};
use trace_format::{Argument, EventKind, KernelObject, ThreadKoids, Value as Fxt, WriteError};

use super::fuchsia;
use super::record::{Kind, Plan};
use super::{Archive, MAX_NAMED};
use crate::ftrace::{self, Clock, Line, Scheduled, Task, Wakeups};
use crate::tef::event::{Event, Phase};
use crate::tef::reader::Member;
use crate::tef::value::Value;
use trace_analyze::carried::ADDED;

/// How many threads are remembered as the ones that had an event last.
const RECENT: usize = 64;

/// The text of ftrace, and what events tell of it.
#[derive(Debug)]
pub(super) struct System {
    texts: Vec<String>,
    /// What Fuchsia has instead: an object.
    objects: Vec<String>,
    /// The times of `clock_sync`, in nanoseconds, by their id.
    syncs: HashMap<Box<str>, u64>,
    /// The process of each thread with an event.
    processes: HashMap<u64, u64>,
    /// Threads that `processes` has; a look at them is cheaper.
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
    /// Keeps the text, if the member has it.
    pub(super) fn member(&mut self, member: &Member<'_>) {
        match member.value {
            _ if member.key.to_str() != "systemTraceEvents" => {}
            Value::String(text) => self.texts.push(text.to_str().into_owned()),
            Value::Nested(json) => self.objects.push(json.to_owned()),
            _ => {}
        }
    }

    /// Takes note of what an event tells.
    #[inline]
    pub(super) fn event(&mut self, event: &Event<'_>, plan: &Plan<'_>) {
        let koids = plan.head.thread;
        match plan.kind {
            Kind::Event(kind) => {
                if self.recent.get(koids.thread as usize % RECENT) != Some(&koids) {
                    self.thread(koids);
                }
                if matches!(kind, EventKind::Instant { .. }) && event.phase() == Phase::ClockSync {
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
        let is_told = (koids.thread | koids.process) & ARTIFICIAL_KOID_BIT == 0;
        if is_told && koids.thread != 0 && self.processes.len() < MAX_NAMED {
            self.processes.entry(koids.thread).or_insert(koids.process);
        }
    }

    /// The one that asked for it knows only that it was between two times.
    #[cold]
    fn sync(&mut self, event: &Event<'_>) {
        let argument = |key| event.arguments().find(|(name, _)| name.to_str() == key);
        let id = argument("sync_id").map(|(_, value)| value);
        let time = event.timestamp().and_then(Event::nanos);
        if let (Some(Value::String(id)), Some(time)) = (id, time) {
            let asked = argument("issue_ts").and_then(|(_, asked)| Event::nanos(asked));
            let time = asked.map_or(time, |asked| asked.midpoint(time));
            if self.syncs.len() < MAX_NAMED {
                self.syncs.entry(id.to_str().into()).or_insert(time);
            }
        }
    }

    /// Returns the process of a thread that has had an event.
    pub(super) fn process_of(&self, thread: u64) -> Option<u64> {
        self.processes.get(&thread).copied()
    }

    /// Writes what the text says, `shift` nanoseconds later; returns the number of scheduling
    /// records.
    pub(super) fn finish(&mut self, writer: &mut Archive, shift: u64) -> Result<u64, WriteError> {
        let mut count = 0;
        for text in std::mem::take(&mut self.texts) {
            let overview = self.overview(&text);
            self.names(writer, &overview)?;
            count += records(writer, &text, overview.clock, shift)?;
        }
        for json in std::mem::take(&mut self.objects) {
            count += fuchsia::records(writer, &json, shift)?;
        }
        Ok(count)
    }

    fn overview<'a>(&self, text: &'a str) -> Overview<'a> {
        let mut overview = Overview::default();
        for line in text.lines().filter_map(Line::parse) {
            overview.clock.note(&line, |id| self.syncs.get(id).copied());
            if let Some(process) = line.process.filter(|_| overview.processes.len() < MAX_NAMED) {
                overview.processes.insert(line.thread, process);
            }
            match Scheduled::of(&line) {
                Some(Scheduled::Switch { outgoing, incoming, .. }) => {
                    overview.name(outgoing);
                    overview.name(incoming);
                }
                Some(Scheduled::Waking { task, .. } | Scheduled::Wakeup { task, .. }) => {
                    overview.name(task);
                }
                None => {}
            }
        }
        overview
    }

    /// Names the threads that the document does not name.
    fn names(&self, writer: &mut Archive, overview: &Overview<'_>) -> Result<(), WriteError> {
        for (koid, name) in &overview.names {
            if *koid == 0 || self.named.contains(koid) {
                continue;
            }
            let process = self.processes.get(koid).or_else(|| overview.processes.get(koid));
            let arguments = [
                Argument::new(ADDED, Fxt::Bool(true)),
                Argument::new("process", Fxt::Koid(process.copied().unwrap_or(0))),
            ];
            let arguments = arguments.get(..1 + usize::from(process.is_some())).unwrap_or_default();
            let name = cut_str(name, MAX_STRING_BYTES).into();
            let (object_type, koid, arguments) = (ObjectType::THREAD, *koid, arguments.into());
            writer.record(&KernelObject { object_type, koid, name, arguments }.into())?;
        }
        Ok(())
    }
}

/// What has to be known of a text before its records are made.
#[derive(Debug, Default)]
struct Overview<'a> {
    clock: Clock,
    processes: HashMap<u64, u64>,
    /// The last name of each thread.
    names: BTreeMap<u64, &'a str>,
}

impl<'a> Overview<'a> {
    fn name(&mut self, task: Task<'a>) {
        if self.names.len() < MAX_NAMED || self.names.contains_key(&task.thread) {
            self.names.insert(task.thread, task.name);
        }
    }
}

/// Writes the scheduling records of a text, and returns their number.
fn records(writer: &mut Archive, text: &str, clock: Clock, shift: u64) -> Result<u64, WriteError> {
    let mut count = 0;
    let mut wakeups = Wakeups::default();
    for line in text.lines().filter_map(Line::parse) {
        let (Some(ticks), Some(scheduled)) = (clock.time(line.nanos, shift), Scheduled::of(&line))
        else {
            continue;
        };
        if !wakeups.is_repeated(&scheduled) {
            ftrace::write(writer, ticks, &line, scheduled, true)?;
            count += 1;
        }
    }
    Ok(count)
}
