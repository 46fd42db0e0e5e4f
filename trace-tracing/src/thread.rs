//! The spans of each thread: those that it is in, with their durations, and those that it has just
//! left.

use std::cell::RefCell;

use trace_runtime::context::TracePoint;
use trace_runtime::DurationScope;

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
    point: TracePoint,
    scope: DurationScope,
}

/// The spans of a thread.
#[derive(Debug, Default)]
struct Thread {
    entered: Vec<Entered>,
    /// Spans that were entered once and just left. If they are closed next, they were synchronous.
    left: Vec<Key>,
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

/// Notes that the thread enters a span.
#[inline]
pub(crate) fn enter(key: Key, point: TracePoint, scope: DurationScope) {
    with(|thread| thread.entered.push(Entered { key, point, scope }));
}

/// Notes that the thread leaves a span. Returns whether the thread was in the span.
///
/// Durations of spans that were entered later and are still open are cut in two, so that durations
/// nest.
#[inline]
pub(crate) fn exit(key: Key) -> bool {
    let exit = |thread: &mut Thread| match thread.entered.last() {
        Some(last) if last.key == key => thread.entered.pop().is_some(),
        _ => thread.exit_below(key),
    };
    with(exit).unwrap_or(false)
}

impl Thread {
    #[cold]
    fn exit_below(&mut self, key: Key) -> bool {
        let Some(place) = self.entered.iter().rposition(|entered| entered.key == key) else {
            return false;
        };
        for entered in self.entered.iter_mut().skip(place).rev() {
            entered.scope = DurationScope::NOT_RECORDED;
        }
        self.entered.remove(place);
        for entered in self.entered.iter_mut().skip(place) {
            entered.scope = entered.point.begin(&[]);
        }
        true
    }
}

/// Notes that the thread has left a span for the first time. The span may close next.
#[inline]
pub(crate) fn remember_left(key: Key) {
    with(|thread| thread.left.push(key));
}

/// Notes that a span closes. Returns whether the thread had just left it for the first time.
#[inline]
pub(crate) fn forget_left(key: Key) -> bool {
    let forget = |thread: &mut Thread| {
        let place = thread.left.iter().rposition(|left| *left == key)?;
        Some(thread.left.swap_remove(place))
    };
    with(forget).flatten().is_some()
}

/// Removes and returns a span of this layer that the thread has left for the first time, and that
/// is still open although the thread continues.
#[inline]
pub(crate) fn take_left(owner: u32) -> Option<u64> {
    let take = |thread: &mut Thread| {
        if thread.left.is_empty() {
            return None;
        }
        let place = thread.left.iter().position(|left| left.owner == owner)?;
        Some(thread.left.remove(place).id)
    };
    with(take).flatten()
}
