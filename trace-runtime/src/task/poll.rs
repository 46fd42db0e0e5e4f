//! One poll of a task.

use trace_format::layout::EventType;
use trace_protocol::buffer::producer::OpenScope;

use super::arguments::Stored;
use super::current::{self, Current};
use super::life::{Life, Task};
use super::strings::{self, State};
use crate::clock::ticks;
use crate::point::names::Names;
use crate::thread::slot;
use crate::RECORDER;

/// A poll that is under way: while it is, its task is the thread's current one.
#[derive(Debug)]
pub(super) struct Running<'a, V: Stored> {
    task: &'a mut Task<V>,
    scope: OpenScope,
    start: u64,
    before: Current,
    /// What the poll has come to. It has panicked if nobody says otherwise.
    state: State,
}

impl<V: Stored> Task<V> {
    /// Begins a poll, and the task if need be. `None` where neither is recorded.
    #[inline(never)]
    pub(super) fn enter(&mut self) -> Option<Running<'_, V>> {
        let begun = if self.life.is_begun() { None } else { Some(self.begin()?) };
        self.life.polls = self.life.polls.wrapping_add(1);
        let of = self.life.of;
        let (scope, start) = of.poll(&self.values.names()?, self.life.polls, begun);
        let before = current::replace(Current { id: of.id, recording: of.recording });
        Some(Running { task: self, scope, start, before, state: State::Panicked })
    }
}

impl<V: Stored> Running<'_, V> {
    /// Ends the poll, which has returned.
    #[inline(always)]
    pub(super) fn leave(mut self, ready: bool) {
        self.state = if ready { State::Ready } else { State::Pending };
    }

}

impl<V: Stored> Drop for Running<'_, V> {
    #[inline(never)]
    fn drop(&mut self) {
        current::restore(self.before);
        let now = ticks();
        let Task { life, values } = &mut *self.task;
        let Some(names) = values.names() else { return };
        if self.scope.is_recorded() {
            if let Some(slot) = slot() {
                self.scope.end_with(strings::poll_state(self.state), slot, &RECORDER, || now);
            }
            life.flow(&names, self.state == State::Pending, self.start);
        }
        if self.state != State::Pending {
            life.end(&names, self.state, now);
        }
    }
}

impl Life {
    /// The arrow that leads to a poll, or away from it: at the poll's start, so that it belongs to the poll for every reader.
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
