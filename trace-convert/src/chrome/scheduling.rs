//! Scheduling records: durations on a thread for each CPU, and lines of ftrace.
//!
//! The durations are for viewers that do not read the lines, and are marked as
//! added: on the way into FXT the lines are what counts.

use std::collections::{BTreeSet, HashMap};

use trace_format::layout::{InstantScope, ThreadState};
use trace_format::{ContextSwitch, Item, LegacyContextSwitch, ThreadKoids, ThreadWakeup};

use super::exporter::{Exporter, Head};
use trace_analyze::carried::{ADDED, CPUS};
use trace_analyze::weights::{say_more, waker, Turn};

/// The number of the thread that stands for CPU 0; the others follow. No thread
/// of Linux has one like it: Perfetto takes two threads with one number for one.
const FIRST_CPU: u64 = 0xfffe_0000;

/// The CPUs that were told of.
#[derive(Debug, Default)]
pub(super) struct Cpus {
    /// Those that have a name already.
    named: BTreeSet<u16>,
    /// What runs on those of each provider.
    running: HashMap<Place, Running>,
}

impl Cpus {
    /// Tells whether a turn has not ended.
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }
}

/// A CPU, with the provider that tells of it.
type Place = (Option<u32>, u16);

/// A turn that has not ended.
#[derive(Debug, Clone, Copy)]
struct Running {
    turn: Turn,
    process: Option<u64>,
    /// Since when, in nanoseconds.
    since: u64,
}

/// A change of the thread that runs.
#[derive(Debug, Clone, Copy)]
struct Switch {
    place: Place,
    nanos: u64,
    outgoing: Turn,
    state: ThreadState,
    incoming: Turn,
    /// The process of the incoming thread.
    process: Option<u64>,
}

impl Exporter {
    pub(super) fn legacy_context_switch(&mut self, item: &Item<'_>, switch: &LegacyContextSwitch) {
        let outgoing = item.thread(switch.outgoing);
        let incoming = item.thread(switch.incoming);
        let turn = |koids: ThreadKoids, priority: u8| Turn {
            thread: koids.thread,
            weight: Some(priority.into()),
        };
        self.switch(Switch {
            place: (item.provider.id(), switch.cpu.into()),
            nanos: item.nanos(switch.ticks),
            outgoing: turn(outgoing, switch.outgoing_priority),
            state: switch.outgoing_state,
            incoming: turn(incoming, switch.incoming_priority),
            process: Some(incoming.process),
        });
    }

    pub(super) fn context_switch<'a>(&mut self, item: &Item<'a>, switch: &ContextSwitch<'a>) {
        let turn = |thread, weight| Turn::of(item, thread, &switch.arguments, weight);
        let nanos = item.nanos(switch.ticks);
        self.switch(Switch {
            place: (item.provider.id(), switch.cpu),
            nanos,
            outgoing: turn(switch.outgoing_thread, "outgoing_weight"),
            state: switch.outgoing_state,
            incoming: turn(switch.incoming_thread, "incoming_weight"),
            process: None,
        });
        if say_more(item, &switch.arguments) {
            self.begin_on_cpu("i", "context switch", switch.cpu, nanos);
            self.scope(InstantScope::Thread);
            self.begin_arguments();
            self.koid_argument("outgoing", switch.outgoing_thread);
            self.state("outgoing state", switch.outgoing_state);
            self.koid_argument("incoming", switch.incoming_thread);
            self.more_arguments(item, &switch.arguments);
            self.end_arguments();
            self.end();
        }
    }

    pub(super) fn thread_wakeup<'a>(&mut self, item: &Item<'a>, wakeup: &ThreadWakeup<'a>) {
        let turn = Turn::of(item, wakeup.thread, &wakeup.arguments, "weight");
        let nanos = item.nanos(wakeup.ticks);
        self.system.wakeup(wakeup.cpu, nanos, turn, waker(item, &wakeup.arguments));
        self.begin_on_cpu("i", "wakeup", wakeup.cpu, nanos);
        self.scope(InstantScope::Thread);
        self.mark();
        self.begin_arguments();
        self.koid_argument("thread", wakeup.thread);
        self.more_arguments(item, &wakeup.arguments);
        self.end_arguments();
        self.end();
    }

    fn switch(&mut self, switch: Switch) {
        let Switch { place, nanos, outgoing, state, incoming, process } = switch;
        self.system.switch(place.1, nanos, state, outgoing, incoming);
        if let Some(running) = self.cpus.running.remove(&place) {
            // Else what happened between is missing, and so is the end.
            let is_end = running.turn.thread == outgoing.thread;
            self.turn(place, running, is_end.then_some((nanos, state)));
        }
        if incoming.thread != 0 {
            self.cpus.running.insert(place, Running { turn: incoming, process, since: nanos });
        }
        self.nanos = nanos;
    }

    /// Adds a turn as a duration, or, if its end is not known, as a moment.
    fn turn(&mut self, place: Place, running: Running, end: Option<(u64, ThreadState)>) {
        let phase = if end.is_some() { "X" } else { "i" };
        self.begin_turn(phase, place, running);
        match end {
            Some((nanos, _)) => self.length(running.since, nanos),
            None => self.scope(InstantScope::Thread),
        }
        self.end_turn(running, end.map(|(_, state)| state));
    }

    /// Adds the turns that last to the archive's end.
    pub(super) fn open_turns(&mut self) {
        let mut open: Vec<(Place, Running)> = self.cpus.running.drain().collect();
        open.sort_by_key(|(place, _)| *place);
        for (place, running) in open {
            self.begin_turn("B", place, running);
            self.end_turn(running, None);
        }
    }

    fn begin_turn(&mut self, phase: &'static str, (_, cpu): Place, running: Running) {
        let name = self.system.command(running.turn.thread, cpu);
        self.begin_on_cpu(phase, &name, cpu, running.since);
    }

    fn end_turn(&mut self, running: Running, state: Option<ThreadState>) {
        self.mark();
        self.begin_arguments();
        self.koid_argument("thread", running.turn.thread);
        if let Some(process) = running.process {
            self.koid_argument("process", process);
        }
        if let Some(weight) = running.turn.weight {
            self.json.key("weight");
            self.json.safe_signed(weight);
        }
        if let Some(state) = state {
            self.state("state afterwards", state);
        }
        self.end_arguments();
        self.end();
    }

    fn begin_on_cpu(&mut self, phase: &'static str, name: &str, cpu: u16, nanos: u64) {
        let thread = ThreadKoids::new(CPUS, FIRST_CPU + u64::from(cpu));
        if !self.cpus.named.contains(&cpu) {
            self.name_cpu(cpu, thread);
        }
        self.begin(&Head { phase, category: "sched", name, nanos, thread });
    }

    fn name_cpu(&mut self, cpu: u16, thread: ThreadKoids) {
        if self.cpus.named.is_empty() {
            self.tell("process_name", thread, "name", "CPUs");
            self.tell("process_labels", thread, "labels", "the same as systemTraceEvents");
        }
        self.tell("thread_name", thread, "name", &format!("CPU {cpu}"));
        self.cpus.named.insert(cpu);
    }

    fn tell(&mut self, kind: &str, thread: ThreadKoids, key: &str, label: &str) {
        self.begin_untimed("M", thread);
        self.json.raw(",\"name\":");
        self.json.plain(kind);
        self.mark();
        self.begin_arguments();
        self.string_argument(key, label);
        self.end_arguments();
        self.end();
    }

    /// Says that an event is not one of its own. The lines of ftrace are not in
    /// the JSON of a document, which may have others.
    fn mark(&mut self) {
        if !self.documents.is_whole() {
            self.json.raw(",");
            self.json.plain(ADDED);
            self.json.raw(":true");
        }
    }

    fn state(&mut self, key: &str, state: ThreadState) {
        match crate::text::state_name(state) {
            Some(name) => self.string_argument(key, name),
            None => self.unsigned_argument(key, state.bits()),
        }
    }
}
