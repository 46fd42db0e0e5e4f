//! Scheduling records: moments on a thread for each CPU, and lines of ftrace.

use trace_format::layout::{InstantScope, ThreadState};
use trace_format::{ContextSwitch, Item, LegacyContextSwitch, ThreadKoids, ThreadWakeup};

use super::exporter::{Exporter, Head};
use super::system::{priority, Turn};

/// The process whose threads are the CPUs: no pid of Linux, and the largest
/// that viewers take.
const CPUS: u64 = u32::MAX as u64;

impl Exporter {
    pub(super) fn legacy_context_switch(&mut self, item: &Item<'_>, switch: &LegacyContextSwitch) {
        let outgoing = item.thread(switch.outgoing);
        let incoming = item.thread(switch.incoming);
        let turn = |thread, priority: u8| Turn { thread, priority: Some(priority.into()) };
        self.system.switch(
            switch.cpu.into(),
            item.nanos(switch.ticks),
            switch.outgoing_state,
            turn(outgoing.thread, switch.outgoing_priority),
            turn(incoming.thread, switch.incoming_priority),
        );
        self.begin_on_cpu("context switch", switch.cpu.into(), item.nanos(switch.ticks));
        self.koid_argument("outgoing", outgoing.thread);
        self.koid_argument("outgoing process", outgoing.process);
        self.state(switch.outgoing_state);
        self.unsigned_argument("outgoing priority", switch.outgoing_priority.into());
        self.koid_argument("incoming", incoming.thread);
        self.koid_argument("incoming process", incoming.process);
        self.unsigned_argument("incoming priority", switch.incoming_priority.into());
        self.end_arguments();
        self.end();
    }

    pub(super) fn context_switch<'a>(&mut self, item: &Item<'a>, switch: &ContextSwitch<'a>) {
        let turn =
            |thread, weight| Turn { thread, priority: priority(item, &switch.arguments, weight) };
        self.system.switch(
            switch.cpu,
            item.nanos(switch.ticks),
            switch.outgoing_state,
            turn(switch.outgoing_thread, "outgoing_weight"),
            turn(switch.incoming_thread, "incoming_weight"),
        );
        self.begin_on_cpu("context switch", switch.cpu, item.nanos(switch.ticks));
        self.koid_argument("outgoing", switch.outgoing_thread);
        self.state(switch.outgoing_state);
        self.koid_argument("incoming", switch.incoming_thread);
        self.more_arguments(item, &switch.arguments);
        self.end_arguments();
        self.end();
    }

    pub(super) fn thread_wakeup<'a>(&mut self, item: &Item<'a>, wakeup: &ThreadWakeup<'a>) {
        let priority = priority(item, &wakeup.arguments, "weight");
        let turn = Turn { thread: wakeup.thread, priority };
        self.system.wakeup(wakeup.cpu, item.nanos(wakeup.ticks), turn);
        self.begin_on_cpu("wakeup", wakeup.cpu, item.nanos(wakeup.ticks));
        self.koid_argument("thread", wakeup.thread);
        self.more_arguments(item, &wakeup.arguments);
        self.end_arguments();
        self.end();
    }

    fn begin_on_cpu(&mut self, name: &str, cpu: u16, nanos: u64) {
        let thread = ThreadKoids::new(CPUS, cpu.into());
        if !self.cpus.contains(&cpu) {
            self.name_cpu(cpu, thread);
        }
        self.begin(&Head { phase: "i", category: "sched", name, nanos, thread });
        self.scope(InstantScope::Thread);
        self.begin_arguments();
    }

    fn name_cpu(&mut self, cpu: u16, thread: ThreadKoids) {
        if self.cpus.is_empty() {
            self.name("process_name", thread, "CPUs");
        }
        self.name("thread_name", thread, &format!("CPU {cpu}"));
        self.cpus.insert(cpu);
    }

    fn name(&mut self, kind: &str, thread: ThreadKoids, name: &str) {
        self.begin_metadata(kind, thread);
        self.string_argument("name", name);
        self.end_arguments();
        self.end();
    }

    fn state(&mut self, state: ThreadState) {
        match crate::text::state_name(state) {
            Some(name) => self.string_argument("outgoing state", name),
            None => self.unsigned_argument("outgoing state", state.bits()),
        }
    }
}
