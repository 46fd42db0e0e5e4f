//! One poll of a task.

use trace_format::layout::EventType;
use trace_protocol::buffer::producer::OpenScope;
use trace_protocol::clock::ticks;

use super::current::{self, Current};
use super::life::Life;
use super::strings::{self, State};
use crate::point::names::Names;
use crate::thread::slot;
use crate::RECORDER;

/// A running poll. Until it ends, its task is the thread's current task.
///
/// It has the names of the task but not its values, so that tasks with names of the same type share
/// the code.
#[derive(Debug)]
pub(super) struct Running<'a, N: Names> {
    life: &'a mut Life,
    names: N,
    scope: OpenScope,
    start: u64,
    previous: Current,
    /// The state of the poll: panicked, unless [`Running::leave`] sets another one.
    state: State,
}

impl<'a, N: Names> Running<'a, N> {
    /// Begins a poll of a task that has begun. `now` is the time if the task has just begun.
    #[inline(never)]
    pub(super) fn begin(life: &'a mut Life, names: N, now: Option<u64>) -> Self {
        life.polls = life.polls.wrapping_add(1);
        let (scope, start) = life.identity.poll(&names, life.polls, now);
        let previous =
            current::replace(Current { id: life.identity.id, recording: life.identity.recording });
        Self { life, names, scope, start, previous, state: State::Panicked }
    }

    /// Ends a poll that has returned.
    #[inline(always)]
    pub(super) fn leave(mut self, ready: bool) {
        self.state = if ready { State::Ready } else { State::Pending };
    }
}

impl<N: Names> Drop for Running<'_, N> {
    #[inline(never)]
    fn drop(&mut self) {
        current::restore(self.previous);
        let now = ticks();
        if self.scope.is_recorded() {
            if let Some(slot) = slot() {
                self.scope.end_with(strings::poll_state(self.state), slot, &RECORDER, || now);
            }
            self.life.flow(&self.names, self.state == State::Pending, self.start);
        }
        if self.state != State::Pending {
            self.life.end(&self.names, self.state, now);
        }
    }
}

impl Life {
    /// Writes the flow event of a poll. It has the time of the poll's start, so every reader binds
    /// it to the poll.
    #[inline(always)]
    fn flow(&mut self, names: &impl Names, pending: bool, start: u64) {
        let kind = match (pending, self.flows) {
            (true, false) => EventType::FlowBegin,
            (true, true) => EventType::FlowStep,
            (false, true) => EventType::FlowEnd,
            (false, false) => return,
        };
        if self.identity.event(kind, names, &[], &(), start) {
            self.flows = pending;
        }
    }
}
