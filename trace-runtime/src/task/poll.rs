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

/// A poll that is under way: while it is, its task is the thread's current one.
///
/// It knows the names of the task and not its values, so that tasks with the same kind of names
/// share the code.
#[derive(Debug)]
pub(super) struct Running<'a, N: Names> {
    life: &'a mut Life,
    names: N,
    scope: OpenScope,
    start: u64,
    before: Current,
    /// What the poll has come to. It has panicked if nobody says otherwise.
    state: State,
}

impl<'a, N: Names> Running<'a, N> {
    /// Begins a poll of a task that is begun; `now` is the time if that was just now.
    #[inline(never)]
    pub(super) fn begin(life: &'a mut Life, names: N, now: Option<u64>) -> Self {
        life.polls = life.polls.wrapping_add(1);
        let (scope, start) = life.of.poll(&names, life.polls, now);
        let before = current::replace(Current { id: life.of.id, recording: life.of.recording });
        Self { life, names, scope, start, before, state: State::Panicked }
    }

    /// Ends the poll, which has returned.
    #[inline(always)]
    pub(super) fn leave(mut self, ready: bool) {
        self.state = if ready { State::Ready } else { State::Pending };
    }
}

impl<N: Names> Drop for Running<'_, N> {
    #[inline(never)]
    fn drop(&mut self) {
        current::restore(self.before);
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
    /// The arrow that leads to a poll, or away from it: at the poll's start, so that it belongs to
    /// the poll for every reader.
    #[inline(always)]
    fn flow(&mut self, names: &impl Names, pending: bool, start: u64) {
        let kind = match (pending, self.flows) {
            (true, false) => EventType::FlowBegin,
            (true, true) => EventType::FlowStep,
            (false, true) => EventType::FlowEnd,
            (false, false) => return,
        };
        if self.of.event(kind, names, &[], &(), start) {
            self.flows = pending;
        }
    }
}
