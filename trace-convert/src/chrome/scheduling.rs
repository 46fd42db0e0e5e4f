//! Scheduling records: durations on a thread for each CPU, and lines of ftrace.
//!
//! The durations are for viewers that do not read the lines. They are marked as added, and the
//! conversion back to FXT reads only the lines.
//!
//! The turn of a partial thread has an unknown end. It is an instant, and the lines have the idle
//! thread in its place, because each thread of a line runs up to the next line of its CPU.

use trace_format::layout::{InstantScope, ThreadState};
use trace_format::{Item, ThreadKoids, ThreadWakeup};

use super::exporter::{Head, JsonExporter};
use trace_analyze::carried::{ADDED, CPUS};
use trace_analyze::scheduling::{has_other_arguments, Switch, Task, Turn, Waker};

/// The thread id of CPU 0. It is beyond the thread ids of Linux, because Perfetto merges threads of
/// one id.
const FIRST_CPU: u64 = 0xfffe_0000;

impl JsonExporter {
    pub(super) fn context_switch(&mut self, item: &Item<'_>) {
        let Some(switch) = Switch::of(item) else { return };
        let switch = switch.marked(&self.threads);
        let Switch { cpu: (_, cpu), nanos, outgoing, state, incoming, .. } = switch;
        // Viewers count a switch from a thread that its CPU does not run as an error.
        if switch.before.is_none() || outgoing.thread == 0 {
            self.system.switch(cpu, nanos, state, outgoing.or_idle(), incoming.or_idle());
        }
        if let Some(turn) = self.turns.push(&switch, ()) {
            self.turn(&turn);
        }
        self.pass(nanos);
        let arguments = item.record.arguments();
        if has_other_arguments(item, &arguments) {
            self.begin_on_cpu("i", "context switch", cpu, nanos);
            self.scope(InstantScope::Thread);
            self.begin_arguments();
            self.json.key("outgoing").koid(outgoing.thread);
            self.state("outgoing state", state);
            self.json.key("incoming").koid(incoming.thread);
            self.more_arguments(item, &arguments);
            self.end_with_arguments();
        }
    }

    pub(super) fn thread_wakeup<'a>(&mut self, item: &Item<'a>, wakeup: &ThreadWakeup<'a>) {
        let turn = Task::of(item, wakeup.thread, &wakeup.arguments, "weight");
        let nanos = item.nanos(wakeup.ticks);
        // A thread would be runnable up to its next line.
        if !self.threads.is_partial(wakeup.thread) {
            self.system.wakeup(wakeup.cpu, nanos, turn, Waker::of(item, &wakeup.arguments));
        }
        self.begin_on_cpu("i", "wakeup", wakeup.cpu, nanos);
        self.scope(InstantScope::Thread);
        self.mark();
        self.begin_arguments();
        self.json.key("thread").koid(wakeup.thread);
        self.more_arguments(item, &wakeup.arguments);
        self.end_with_arguments();
    }

    /// Adds a turn as a duration, or as an instant if its end is unknown.
    fn turn(&mut self, turn: &Turn<()>) {
        // The begin is unknown.
        let Some(from) = turn.from else { return };
        self.begin_turn(if turn.to.is_some() { "X" } else { "i" }, turn, from);
        match turn.to {
            Some((to, _)) => self.length(from, to),
            None => self.scope(InstantScope::Thread),
        }
        self.end_turn(turn);
    }

    /// Adds the turns that have not ended.
    pub(super) fn open_turns(&mut self) {
        for turn in self.turns.finish() {
            self.open_events();
            if turn.task.is_partial {
                self.turn(&turn);
                continue;
            }
            self.begin_turn("B", &turn, turn.from.unwrap_or(0));
            self.end_turn(&turn);
        }
    }

    fn begin_turn(&mut self, phase: &'static str, turn: &Turn<()>, from: u64) {
        let (_, cpu) = turn.cpu;
        let name = self.system.command(turn.task.thread, cpu);
        self.begin_on_cpu(phase, &name, cpu, from);
    }

    fn end_turn(&mut self, turn: &Turn<()>) {
        self.mark();
        self.begin_arguments();
        self.json.key("thread").koid(turn.task.thread);
        if let Some(process) = turn.process {
            self.json.key("process").koid(process);
        }
        if let Some(weight) = turn.task.weight {
            self.json.key("weight").safe_signed(weight);
        }
        if let Some((_, state)) = turn.to {
            self.state("state afterwards", state);
        }
        self.end_with_arguments();
    }

    fn begin_on_cpu(&mut self, phase: &'static str, name: &str, cpu: u16, nanos: u64) {
        let thread = ThreadKoids::new(CPUS, FIRST_CPU + u64::from(cpu));
        if !self.named_cpus.contains(&cpu) {
            self.name_cpu(cpu, thread);
        }
        self.begin(&Head { phase, category: "sched", name, nanos, thread });
    }

    fn name_cpu(&mut self, cpu: u16, thread: ThreadKoids) {
        if self.named_cpus.is_empty() {
            self.cpu_metadata("process_name", thread, "name", "CPUs");
            self.cpu_metadata("process_labels", thread, "labels", "the same as systemTraceEvents");
        }
        self.cpu_metadata("thread_name", thread, "name", &format!("CPU {cpu}"));
        self.named_cpus.insert(cpu);
    }

    fn cpu_metadata(&mut self, kind: &str, thread: ThreadKoids, key: &str, label: &str) {
        self.begin_untimed("M", thread);
        self.json.raw(",\"name\":");
        self.json.plain(kind);
        self.mark();
        self.begin_arguments();
        self.json.key(key).string(label);
        self.end_with_arguments();
    }

    /// Marks an event as added. A restored document may have other lines of ftrace, so that these
    /// events are its own.
    fn mark(&mut self) {
        if !self.documents.is_restored() {
            self.json.raw(",");
            self.json.plain(ADDED);
            self.json.raw(":true");
        }
    }

    fn state(&mut self, key: &str, state: ThreadState) {
        match crate::text::state_name(state) {
            Some(name) => self.json.key(key).string(name),
            None => self.json.key(key).safe_unsigned(state.bits()),
        }
    }
}
