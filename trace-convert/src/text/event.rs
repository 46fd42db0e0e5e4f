//! Events, logs and scheduling records.

use std::fmt::{self, Write};

use trace_format::layout::{InstantScope, ThreadState};
use trace_format::{ContextSwitch, Event, EventKind, Item, LegacyContextSwitch, Log, ThreadWakeup};

use super::{arguments, quoted, state_name, text, thread, time};

pub(super) fn event<'a>(output: &mut dyn Write, item: &Item<'a>, event: &Event<'a>) -> fmt::Result {
    output.write_str(kind_name(event.kind))?;
    thread(output, item, event.thread)?;
    time(output, item, event.ticks)?;
    text(output, item, event.category)?;
    text(output, item, event.name)?;
    match event.kind {
        EventKind::Counter { id }
        | EventKind::AsyncBegin { id }
        | EventKind::AsyncInstant { id }
        | EventKind::AsyncEnd { id }
        | EventKind::FlowBegin { id }
        | EventKind::FlowStep { id }
        | EventKind::FlowEnd { id } => write!(output, " id {id} ({id:#x})")?,
        EventKind::DurationComplete { end } => duration(output, item, event.ticks, end)?,
        EventKind::Instant { scope: Some(scope) } => output.write_str(scope_name(scope))?,
        _ => {}
    }
    arguments(output, item, &event.arguments)
}

fn kind_name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Instant { .. } => "instant",
        EventKind::Counter { .. } => "counter",
        EventKind::DurationBegin => "duration-begin",
        EventKind::DurationEnd => "duration-end",
        EventKind::DurationComplete { .. } => "duration-complete",
        EventKind::AsyncBegin { .. } => "async-begin",
        EventKind::AsyncInstant { .. } => "async-instant",
        EventKind::AsyncEnd { .. } => "async-end",
        EventKind::FlowBegin { .. } => "flow-begin",
        EventKind::FlowStep { .. } => "flow-step",
        EventKind::FlowEnd { .. } => "flow-end",
    }
}

fn scope_name(scope: InstantScope) -> &'static str {
    match scope {
        InstantScope::Thread => " thread",
        InstantScope::Process => " process",
        InstantScope::Global => " global",
    }
}

fn duration(output: &mut dyn Write, item: &Item<'_>, start: u64, end: u64) -> fmt::Result {
    match item.nanos(end).checked_sub(item.nanos(start)) {
        Some(nanos) => write!(output, " {nanos}ns"),
        None => write!(output, " ends before its start, at tick {end}"),
    }
}

pub(super) fn log(output: &mut dyn Write, item: &Item<'_>, log: &Log<'_>) -> fmt::Result {
    output.write_str("log")?;
    thread(output, item, log.thread)?;
    time(output, item, log.ticks)?;
    quoted(output, &String::from_utf8_lossy(log.message))
}

pub(super) fn legacy_context_switch(
    output: &mut dyn Write,
    item: &Item<'_>,
    switch: &LegacyContextSwitch,
) -> fmt::Result {
    write!(output, "context-switch cpu {}", switch.cpu)?;
    time(output, item, switch.ticks)?;
    output.write_str(" from")?;
    thread(output, item, switch.outgoing)?;
    state(output, switch.outgoing_state)?;
    write!(output, " priority {} to", switch.outgoing_priority)?;
    thread(output, item, switch.incoming)?;
    write!(output, " priority {}", switch.incoming_priority)
}

pub(super) fn context_switch<'a>(
    output: &mut dyn Write,
    item: &Item<'a>,
    switch: &ContextSwitch<'a>,
) -> fmt::Result {
    write!(output, "context-switch cpu {}", switch.cpu)?;
    time(output, item, switch.ticks)?;
    write!(output, " from #{}", switch.outgoing_thread)?;
    state(output, switch.outgoing_state)?;
    write!(output, " to #{}", switch.incoming_thread)?;
    arguments(output, item, &switch.arguments)
}

pub(super) fn thread_wakeup<'a>(
    output: &mut dyn Write,
    item: &Item<'a>,
    wakeup: &ThreadWakeup<'a>,
) -> fmt::Result {
    write!(output, "thread-wakeup cpu {}", wakeup.cpu)?;
    time(output, item, wakeup.ticks)?;
    write!(output, " #{}", wakeup.thread)?;
    arguments(output, item, &wakeup.arguments)
}

fn state(output: &mut dyn Write, state: ThreadState) -> fmt::Result {
    match state_name(state) {
        Some(name) => write!(output, " {name}"),
        None => write!(output, " state {}", state.bits()),
    }
}
