//! Scheduling records as the text of ftrace, `systemTraceEvents`.
//!
//! Viewers draw CPUs from it. It follows the events, so that it is spooled.

use std::collections::HashMap;
use std::io::{self, Write};

use trace_format::layout::ThreadState;

use super::spool::Spool;
use trace_analyze::scheduling::{InterruptKind, Task, Waker};

/// The maximum number of thread names.
const MAX_NAMES: usize = 1 << 16;

/// The priority of a thread whose record has none: Linux's default.
const DEFAULT_PRIORITY: i64 = 120;

/// The flags of an event that did not happen in an interrupt.
const NO_FLAGS: &str = "....";

/// The lines of ftrace, as the content of a JSON string.
#[derive(Debug, Default)]
pub(super) struct System {
    names: HashMap<u64, Box<str>>,
    lines: Spool,
}

impl System {
    /// Records the name of a thread for the following lines.
    pub(super) fn name(&mut self, thread: u64, name: &str) {
        if self.names.len() < MAX_NAMES || self.names.contains_key(&thread) {
            self.names.insert(thread, name.into());
        }
    }

    pub(super) fn switch(
        &mut self,
        cpu: u16,
        nanos: u64,
        state: ThreadState,
        outgoing: Task,
        incoming: Task,
    ) {
        let line = format!(
            "{} sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> \
             next_comm={} next_pid={} next_prio={}",
            self.start(outgoing.thread, cpu, NO_FLAGS, nanos),
            self.command(outgoing.thread, cpu),
            outgoing.thread,
            outgoing.weight.unwrap_or(DEFAULT_PRIORITY),
            letter(state),
            self.command(incoming.thread, cpu),
            incoming.thread,
            incoming.weight.unwrap_or(DEFAULT_PRIORITY),
        );
        self.line(&line);
    }

    /// Adds a wakeup. Viewers read the waker in `sched_waking`, and the other fields in
    /// `sched_wakeup`.
    pub(super) fn wakeup(&mut self, cpu: u16, nanos: u64, turn: Task, waker: Option<Waker>) {
        let flags = match waker {
            Some(Waker::Interrupt { kind: InterruptKind::Hard, .. }) => "..h.",
            Some(Waker::Interrupt { kind: InterruptKind::Soft, .. }) => "..s.",
            Some(Waker::Thread(_)) | None => NO_FLAGS,
        };
        let start = self.start(waker.and_then(Waker::thread).unwrap_or(0), cpu, flags, nanos);
        let details = format!(
            "comm={} pid={} prio={} target_cpu={cpu:03}",
            self.command(turn.thread, cpu),
            turn.thread,
            turn.weight.unwrap_or(DEFAULT_PRIORITY),
        );
        if waker.is_some() {
            self.line(&format!("{start} sched_waking: {details}"));
        }
        self.line(&format!("{start} sched_wakeup: {details}"));
    }

    /// Returns the start of a line: command, thread, CPU, flags and time.
    fn start(&self, thread: u64, cpu: u16, flags: &str, nanos: u64) -> String {
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let command = self.command(thread, cpu);
        // A line that starts with `#` is a comment.
        let blank = if command.starts_with('#') { " " } else { "" };
        format!("{blank}{command}-{thread} [{cpu:03}] {flags} {seconds}.{rest:09}:")
    }

    /// Returns a thread's command name. Thread 0 is the idle thread.
    pub(super) fn command(&self, thread: u64, cpu: u16) -> String {
        match self.names.get(&thread) {
            Some(name) => name.replace(char::is_control, " "),
            None if thread == 0 => format!("swapper/{cpu}"),
            None => format!("{thread}"),
        }
    }

    fn line(&mut self, line: &str) {
        let start = if self.lines.is_empty() { "# tracer: nop\\n" } else { "" };
        let quoted = serde_json::to_string(line).unwrap_or_default();
        let inside = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        self.lines.push(&[start, inside, "\\n"]);
    }

    /// Writes the member if it has lines.
    pub(super) fn write(self, output: &mut impl Write) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        output.write_all(b",\"systemTraceEvents\":\"")?;
        self.lines.write(output)?;
        output.write_all(b"\"")
    }
}

/// Returns ftrace's letter for a state.
fn letter(state: ThreadState) -> char {
    match state {
        ThreadState::SUSPENDED => 'T',
        ThreadState::BLOCKED => 'S',
        ThreadState::DYING => 'Z',
        ThreadState::DEAD => 'X',
        _ => 'R',
    }
}
