//! The spans of each thread: those that it is in, with their durations, and those that it has just
//! left.

use std::cell::RefCell;

use trace_runtime::context::spans::{enter_span, leave_span, OuterTask};
use trace_runtime::{DurationScope, Timestamp};

use crate::poll::Poll;

/// A span of one of the program's layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The number of the layer: each has its own ids.
    pub(crate) owner: u32,
    pub(crate) id: u64,
}

/// A span that the thread is in.
#[derive(Debug)]
struct Entered {
    key: Key,
    poll: Poll,
    scope: DurationScope,
    outer: OuterTask,
}

/// A span that the thread has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) key: Key,
    pub(crate) poll: Poll,
    /// The begin of the poll's duration, if it is recorded.
    pub(crate) start: Option<Timestamp>,
}

/// The spans of a thread.
#[derive(Debug, Default)]
struct Thread {
    entered: Vec<Entered>,
    /// Spans that were just left. If a span is closed next, and was entered once, it was
    /// synchronous. If it was entered again, its future was dropped.
    left: Vec<Left>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        // The inner ones first, because durations nest.
        while self.entered.pop().is_some() {}
    }
}

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::default();
}

/// Calls `act` with the thread's spans. Returns `None` if the thread is ending and they are
/// destroyed. `act` runs no code of the application.
#[inline]
fn with<R>(act: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    THREAD
        .try_with(|thread| thread.try_borrow_mut().ok().map(|mut thread| act(&mut thread)))
        .ok()
        .flatten()
}

/// Returns the innermost span of this layer that the thread is in.
#[inline]
pub(crate) fn current(owner: u32) -> Option<u64> {
    with(|thread| {
        thread
            .entered
            .iter()
            .rev()
            .find(|entered| entered.key.owner == owner)
            .map(|entered| entered.key.id)
    })?
}

/// Returns the innermost span that the thread is in.
pub(crate) fn innermost() -> Option<Key> {
    with(|thread| Some(thread.entered.last()?.key))?
}

/// Notes that the thread enters a span.
#[inline]
pub(crate) fn enter(key: Key, poll: Poll, scope: DurationScope) {
    let outer = enter_span();
    with(|thread| thread.entered.push(Entered { key, poll, scope, outer }));
}

/// Notes that the thread leaves a span. Returns `None` if the thread was not in the span.
///
/// Durations of spans that were entered later and are still open are cut in two, so that durations
/// nest.
#[inline]
pub(crate) fn exit(key: Key) -> Option<Left> {
    let exit = |thread: &mut Thread| match thread.entered.last() {
        Some(last) if last.key == key => {
            let Entered { poll, scope, outer, .. } = thread.entered.pop()?;
            leave_span(outer);
            Some(Left { key, poll, start: scope.start() })
        }
        _ => thread.exit_below(key),
    };
    with(exit)?
}

impl Thread {
    #[cold]
    fn exit_below(&mut self, key: Key) -> Option<Left> {
        let place = self.entered.iter().rposition(|entered| entered.key == key)?;
        let start = self.entered.get(place)?.scope.start();
        for entered in self.entered.iter_mut().skip(place).rev() {
            entered.scope = DurationScope::NOT_RECORDED;
        }
        let Entered { poll, outer, .. } = self.entered.remove(place);
        if let Some(inner) = self.entered.get_mut(place) {
            inner.outer = outer;
        }
        for entered in self.entered.iter_mut().skip(place) {
            entered.scope = entered.poll.begin(&[]);
        }
        Some(Left { key, poll, start })
    }
}

/// Notes that the thread has left a span. The span may close next.
#[inline]
pub(crate) fn remember_left(left: Left) {
    with(|thread| thread.left.push(left));
}

/// Notes that a span closes. Returns its last poll, if the thread had just left it.
#[inline]
pub(crate) fn forget_left(key: Key) -> Option<Left> {
    let forget = |thread: &mut Thread| {
        let place = thread.left.iter().rposition(|left| left.key == key)?;
        Some(thread.left.swap_remove(place))
    };
    with(forget)?
}

/// Removes and returns a span of this layer that the thread has just left, and that is still open
/// although the thread continues.
#[inline]
pub(crate) fn take_left(owner: u32) -> Option<Left> {
    let take = |thread: &mut Thread| {
        if thread.left.is_empty() {
            return None;
        }
        let place = thread.left.iter().position(|left| left.key.owner == owner)?;
        Some(thread.left.remove(place))
    };
    with(take)?
}
