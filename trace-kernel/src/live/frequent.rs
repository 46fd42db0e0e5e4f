//! The hot path: the events of which there are hundreds of thousands a second.
//!
//! ```text
//! payload ──► fields at the places of the format ──► Translator ──► words in the buffer
//! ```
//!
//! System calls, switches and wake-ups have a few numbers at fixed places. These are read where
//! they are, without an [`Entry`](crate::Entry) of the event. Other events, and other formats of
//! these, take the common path, with the same result.

use trace_format::layout::ThreadState;
use trace_format::WriteError;

use super::backend::Output;
use super::batch::BatchEvent;
use crate::decode::thread_states;
use crate::event::Context;
use crate::format::{EventFormat, Field, Place, Shape};
use crate::fxt::{Comm, Switch, Wakeup, REGISTERS};

/// The bytes of six registers.
const REGISTER_BYTES: usize = 8 * REGISTERS;

/// Where the fields of an event are, in bytes from the start of the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frequent {
    /// `common_pid`.
    thread: usize,
    fields: Fields,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fields {
    Enter { number: usize, registers: usize },
    Leave { number: usize, result: usize },
    Switch { outgoing: TaskFields, state: usize, states: States, incoming: TaskFields },
    Waking { flags: usize, task: TaskFields, cpu: usize },
}

/// The states of threads, by their bit.
type States = Vec<(u64, ThreadState)>;

/// A thread in an event of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TaskFields {
    comm: usize,
    thread: usize,
    priority: usize,
}

impl Frequent {
    /// Returns the fields of an event of this machine, or `None` if it is another event or has
    /// other fields.
    pub(super) fn of(format: &EventFormat) -> Option<Self> {
        let number = |name: &str| place(format, name, Shape::Signed, 4);
        let long = |name: &str| place(format, name, Shape::Signed, 8);
        let task = |prefix: &str| {
            let comm = place(format, &format!("{prefix}comm"), Shape::Text, size_of::<Comm>())?;
            let (thread, priority) =
                (number(&format!("{prefix}pid"))?, number(&format!("{prefix}prio"))?);
            Some(TaskFields { comm, thread, priority })
        };
        let fields = match (&*format.system, &*format.name) {
            ("raw_syscalls", "sys_enter") => {
                let registers = place(format, "args", Shape::Bytes, REGISTER_BYTES)?;
                Fields::Enter { number: long("id")?, registers }
            }
            ("raw_syscalls", "sys_exit") => {
                Fields::Leave { number: long("id")?, result: long("ret")? }
            }
            ("sched", "sched_switch") => {
                let (outgoing, incoming) = (task("prev_")?, task("next_")?);
                let (state, states) = (long("prev_state")?, thread_states(format));
                Fields::Switch { outgoing, state, states, incoming }
            }
            ("sched", "sched_waking") => {
                let flags = place(format, "common_flags", Shape::Unsigned, 1)?;
                Fields::Waking { flags, task: task("")?, cpu: number("target_cpu")? }
            }
            _ => return None,
        };
        Some(Self { thread: number("common_pid")?, fields })
    }

    /// Writes the records of an event. Returns `None` without an effect if the payload is too
    /// short, or a number is beyond its range.
    #[inline]
    pub(super) fn translate(
        &self,
        output: &mut Output<'_, '_>,
        event: &BatchEvent<'_>,
    ) -> Option<Result<(), WriteError>> {
        let Output { translator, sink, .. } = output;
        let (ticks, cpu, payload) = (event.raw.time, event.cpu, event.raw.payload);
        let thread = thread(payload, self.thread)?;
        Some(match &self.fields {
            Fields::Enter { number, registers } => {
                let number = i64::from_ne_bytes(bytes(payload, *number)?);
                let bytes: &[u8; REGISTER_BYTES] = payload.get(*registers..)?.first_chunk()?;
                let mut registers = [0; REGISTERS];
                for (register, bytes) in registers.iter_mut().zip(bytes.chunks_exact(8)) {
                    *register = u64::from_ne_bytes(*bytes.first_chunk()?);
                }
                translator.enter((ticks, thread), number, registers);
                Ok(())
            }
            Fields::Leave { number, result } => {
                let number = i64::from_ne_bytes(bytes(payload, *number)?);
                let result = i64::from_ne_bytes(bytes(payload, *result)?);
                translator.leave(sink, (ticks, thread), number, result)
            }
            Fields::Switch { outgoing, state, states, incoming } => {
                let (outgoing, old) = outgoing.read(payload)?;
                let (incoming, new) = incoming.read(payload)?;
                let bits = u64::from_ne_bytes(bytes(payload, *state)?);
                let state = states.iter().find(|(bit, _)| bits & bit != 0);
                let state = state.map_or(ThreadState::RUNNING, |(_, state)| *state);
                let switch = Switch { ticks, cpu, outgoing, state, incoming };
                translator.switch(sink, &switch, [old, new])
            }
            Fields::Waking { flags, task, cpu } => {
                let (woken, name) = task.read(payload)?;
                let cpu = i32::from_ne_bytes(bytes(payload, *cpu)?).try_into().ok()?;
                let by = Some((Context::of_flags((*payload.get(*flags)?).into()), thread));
                let wakeup = Wakeup { ticks, cpu, thread: woken, by };
                translator.wake(sink, &wakeup, (thread, name))
            }
        })
    }
}

impl TaskFields {
    /// Returns a thread with its priority, and its name.
    #[inline]
    fn read<'a>(&self, payload: &'a [u8]) -> Option<((u64, Option<i32>), &'a Comm)> {
        let priority = i32::from_ne_bytes(bytes(payload, self.priority)?);
        let comm = payload.get(self.comm..)?.first_chunk()?;
        Some(((thread(payload, self.thread)?, Some(priority)), comm))
    }
}

/// Returns where a field in the payload is, if it has this shape and size.
fn place(format: &EventFormat, name: &str, shape: Shape, size: usize) -> Option<usize> {
    let Field { offset, .. } = format
        .field(name)
        .filter(|field| (field.place, field.shape, field.size) == (Place::Inline, shape, size))?;
    Some(*offset)
}

#[inline]
fn bytes<const N: usize>(payload: &[u8], place: usize) -> Option<[u8; N]> {
    payload.get(place..)?.first_chunk().copied()
}

/// Returns the id of a thread.
#[inline]
fn thread(payload: &[u8], place: usize) -> Option<u64> {
    i32::from_ne_bytes(bytes(payload, place)?).try_into().ok()
}
