//! Scheduling records, as ftrace events of Linux's scheduler.

use trace_format::layout::ThreadState;
use trace_format::{Item, ThreadWakeup};

use super::annotations::{number as unsigned, string};
use super::exporter::PerfettoExporter;
use super::message::{FtraceEvent, FtraceEventBundle, SchedSwitch, SchedWaking, TracePacket};
use super::tracks::ROOT;
use trace_analyze::scheduling::{InterruptKind, Switch, Task, Waker};

/// The scheduler's name for the idle thread.
const SWAPPER: &str = "swapper";

/// Perfetto refuses a file with a CPU of this or a higher number.
const MAX_CPUS: u16 = 1024;

impl PerfettoExporter {
    pub(super) fn context_switch(&mut self, item: &Item<'_>) {
        let Some(switch) = Switch::of(item) else { return };
        // Perfetto counts a switch from a thread that its CPU does not run as an error.
        if switch.before.is_some() && switch.outgoing.thread != 0 {
            return;
        }
        if let Some((outgoing, incoming)) = switch.koids {
            for koids in [outgoing, incoming] {
                self.tracks.thread(koids);
            }
        }
        // A thread runs up to the next switch of its CPU for Perfetto, and nothing is shown for the
        // idle thread.
        let Switch { cpu: (_, cpu), nanos, outgoing, state, incoming, .. } =
            switch.marked(&self.catalog);
        let (outgoing, incoming) = (outgoing.or_idle(), incoming.or_idle());
        let sched_switch = SchedSwitch {
            prev_comm: Some(self.comm(outgoing.thread)),
            prev_pid: Some(number(outgoing.thread)),
            prev_prio: priority(outgoing),
            prev_state: Some(linux_state(state)),
            next_comm: Some(self.comm(incoming.thread)),
            next_pid: Some(number(incoming.thread)),
            next_prio: priority(incoming),
        };
        let (pid, sched_switch) = (Some(number(outgoing.thread) as u32), Some(sched_switch));
        self.scheduled((cpu, nanos), FtraceEvent { pid, sched_switch, ..FtraceEvent::default() });
    }

    pub(super) fn thread_wakeup<'a>(&mut self, item: &Item<'a>, wakeup: &ThreadWakeup<'a>) {
        // A thread would be runnable up to its next switch.
        if self.catalog.is_partial(wakeup.thread) {
            return;
        }
        let task = Task::of(item, wakeup.thread, &wakeup.arguments, "weight");
        let sched_waking = SchedWaking {
            comm: Some(self.comm(task.thread)),
            pid: Some(number(task.thread)),
            prio: priority(task),
            success: Some(1),
            target_cpu: Some(wakeup.cpu.into()),
        };
        let waker = Waker::of(item, &wakeup.arguments);
        let event = FtraceEvent {
            pid: Some(number(waker.and_then(Waker::thread).unwrap_or(0)) as u32),
            common_flags: waker.and_then(interrupt_flag),
            sched_waking: Some(sched_waking),
            ..FtraceEvent::default()
        };
        self.scheduled((wakeup.cpu, item.nanos(wakeup.ticks)), event);
    }

    fn scheduled(&mut self, (cpu, nanos): (u16, u64), mut event: FtraceEvent) {
        self.pass(nanos);
        if cpu >= MAX_CPUS {
            return self.instant_on_cpu((cpu, nanos), &event);
        }
        event.timestamp = Some(nanos);
        let bundle = FtraceEventBundle { cpu: Some(cpu.into()), event: Some(event) };
        let ftrace_events = Some(bundle.into());
        self.packets.packet(TracePacket { ftrace_events, ..TracePacket::default() });
    }

    /// Shows an event of a CPU that Perfetto refuses as an instant.
    #[cold]
    fn instant_on_cpu(&mut self, (cpu, nanos): (u16, u64), event: &FtraceEvent) {
        let track = self.tracks.named(&mut self.packets, ROOT, "CPUs from 1024 on");
        let mut annotations = vec![unsigned("cpu", cpu.into())];
        let mut name = "sched_switch";
        if let Some(switch) = &event.sched_switch {
            annotations.extend([
                unsigned("prev_pid", switch.prev_pid() as u64),
                string("prev_comm", switch.prev_comm()),
                unsigned("prev_state", switch.prev_state() as u64),
                unsigned("next_pid", switch.next_pid() as u64),
                string("next_comm", switch.next_comm()),
            ]);
        }
        if let Some(waking) = &event.sched_waking {
            name = "sched_waking";
            annotations.extend([
                unsigned("pid", waking.pid() as u64),
                string("comm", waking.comm()),
                unsigned("waker", event.pid().into()),
            ]);
        }
        let instant = self.note(track, "sched", name, annotations);
        self.timed(nanos, instant);
    }

    fn comm(&self, thread: u64) -> String {
        match self.comms.get(&thread) {
            _ if thread == 0 => SWAPPER.to_owned(),
            Some(name) => name.to_string(),
            None => String::new(),
        }
    }
}

/// Returns the flag of events in an interrupt: Perfetto ignores their thread.
fn interrupt_flag(waker: Waker) -> Option<u32> {
    match waker {
        Waker::Thread(_) => None,
        Waker::Interrupt { kind: InterruptKind::Hard, .. } => Some(0x08),
        Waker::Interrupt { kind: InterruptKind::Soft, .. } => Some(0x10),
    }
}

fn priority(task: Task) -> Option<i32> {
    task.weight.and_then(|weight| i32::try_from(weight).ok())
}

/// Returns a koid as a thread id of Linux, which has 31 bits.
fn number(koid: u64) -> i32 {
    (koid & 0x7fff_ffff) as i32
}

/// Returns the bits for a state in Linux 4.14 and later.
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
