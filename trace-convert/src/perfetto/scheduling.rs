//! Scheduling records: events of Linux's scheduler, as ftrace has them.

use trace_format::layout::ThreadState;
use trace_format::{Arguments, ContextSwitch, Item, LegacyContextSwitch, ThreadWakeup, Value};

use super::exporter::Exporter;
use super::message::{FtraceEvent, FtraceEventBundle, SchedSwitch, SchedWaking, TracePacket};
use crate::references::peek_text;

/// The weight that says that a processor is idle.
const IDLE: i32 = i32::MIN;
/// What the scheduler calls a thread that is none: the idle processor.
const SWAPPER: &str = "swapper";

impl Exporter {
    pub(super) fn legacy_context_switch(&mut self, item: &Item<'_>, switch: &LegacyContextSwitch) {
        let (outgoing, incoming) = (item.thread(switch.outgoing), item.thread(switch.incoming));
        for koids in [outgoing, incoming] {
            self.thread(koids);
        }
        let outgoing = (outgoing.thread, Some(switch.outgoing_priority.into()));
        let incoming = (incoming.thread, Some(switch.incoming_priority.into()));
        let place = (switch.cpu.into(), item.nanos(switch.ticks));
        self.switch(place, outgoing, switch.outgoing_state, incoming);
    }

    pub(super) fn context_switch<'a>(&mut self, item: &Item<'a>, switch: &ContextSwitch<'a>) {
        let outgoing = weighed(item, switch.outgoing_thread, &switch.arguments, "outgoing_weight");
        let incoming = weighed(item, switch.incoming_thread, &switch.arguments, "incoming_weight");
        let place = (switch.cpu, item.nanos(switch.ticks));
        self.switch(place, outgoing, switch.outgoing_state, incoming);
    }

    pub(super) fn thread_wakeup<'a>(&mut self, item: &Item<'a>, wakeup: &ThreadWakeup<'a>) {
        let (thread, weight) = weighed(item, wakeup.thread, &wakeup.arguments, "weight");
        let waker = argument(item, &wakeup.arguments, "waker", |value| match value {
            Value::Koid(koid) => Some(koid),
            _ => None,
        });
        let sched_waking = SchedWaking {
            comm: Some(self.comm(thread)),
            pid: Some(number(thread)),
            prio: weight,
            success: Some(1),
            target_cpu: Some(wakeup.cpu.into()),
        };
        let event = FtraceEvent {
            pid: Some(number(waker.unwrap_or(0)) as u32),
            sched_waking: Some(sched_waking),
            ..FtraceEvent::default()
        };
        self.scheduled((wakeup.cpu, item.nanos(wakeup.ticks)), event);
    }

    fn switch(
        &mut self,
        place: (u16, u64),
        (outgoing, outgoing_weight): (u64, Option<i32>),
        state: ThreadState,
        (incoming, incoming_weight): (u64, Option<i32>),
    ) {
        let sched_switch = SchedSwitch {
            prev_comm: Some(self.comm(outgoing)),
            prev_pid: Some(number(outgoing)),
            prev_prio: outgoing_weight,
            prev_state: Some(linux_state(state)),
            next_comm: Some(self.comm(incoming)),
            next_pid: Some(number(incoming)),
            next_prio: incoming_weight,
        };
        let (pid, sched_switch) = (Some(number(outgoing) as u32), Some(sched_switch));
        self.scheduled(place, FtraceEvent { pid, sched_switch, ..FtraceEvent::default() });
    }

    fn scheduled(&mut self, (cpu, nanos): (u16, u64), mut event: FtraceEvent) {
        self.pass(nanos);
        event.timestamp = Some(nanos);
        let bundle = FtraceEventBundle { cpu: Some(cpu.into()), event: Some(event) };
        let ftrace_events = Some(bundle);
        self.packets.packet(TracePacket { ftrace_events, ..TracePacket::default() });
    }

    fn comm(&self, thread: u64) -> String {
        match self.comms.get(&thread) {
            _ if thread == 0 => SWAPPER.to_owned(),
            Some(name) => name.to_string(),
            None => String::new(),
        }
    }
}

/// Returns a thread with the weight that the arguments give it; 0 for the idle
/// processor.
fn weighed<'a>(
    item: &Item<'a>,
    thread: u64,
    arguments: &Arguments<'a>,
    name: &str,
) -> (u64, Option<i32>) {
    let weight = argument(item, arguments, name, |value| match value {
        Value::Int32(weight) => Some(weight),
        _ => None,
    });
    match weight {
        Some(IDLE) => (0, None),
        weight => (thread, weight),
    }
}

fn argument<'a, T>(
    item: &Item<'a>,
    arguments: &Arguments<'a>,
    name: &str,
    value: impl Fn(Value<'a>) -> Option<T>,
) -> Option<T> {
    let mut named = arguments.iter().filter(|argument| peek_text(item, argument.name) == name);
    named.find_map(|argument| value(argument.value))
}

/// Returns a thread's koid as Linux numbers threads: the low 31 bits.
fn number(koid: u64) -> i32 {
    (koid & 0x7fff_ffff) as i32
}

/// Returns a state as the bits that Linux 4.14 and later has for it.
fn linux_state(state: ThreadState) -> i64 {
    const RUNNABLE: i64 = 0;
    const SLEEPING: i64 = 1;
    const STOPPED: i64 = 4;
    const DEAD: i64 = 16;
    const ZOMBIE: i64 = 32;
    match state {
        ThreadState::SUSPENDED => STOPPED,
        ThreadState::BLOCKED => SLEEPING,
        ThreadState::DYING => ZOMBIE,
        ThreadState::DEAD => DEAD,
        _ => RUNNABLE,
    }
}
