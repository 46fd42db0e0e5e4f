//! What each thread is in: the durations that it has begun, and the spans that it left and that may
//! be over.

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
    /// Spans that were entered once and left just now. If nothing but their ends follows, they were
    /// synchronous.
    left: Vec<Key>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        // The inner ones first, as durations nest.
        while self.entered.pop().is_some() {}
    }
}

thread_local! {
    static THREAD: RefCell<Thread> = RefCell::default();
}

/// Calls `act` with the thread's spans; `None` where the thread ends and has none any more. `act`
/// runs no code of the application.
#[inline]
fn with<R>(act: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    THREAD
        .try_with(|thread| thread.try_borrow_mut().ok().map(|mut thread| act(&mut thread)))
        .ok()
        .flatten()
}

/// The span of this layer that the thread entered last and is in.
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

/// The thread is in a span from now on.
#[inline]
pub(crate) fn enter(key: Key, point: TracePoint, scope: DurationScope) {
    with(|thread| thread.entered.push(Entered { key, point, scope }));
}

/// The thread leaves a span. Returns whether it was in it.
///
/// Where it entered others since and is still in them, their durations are cut in two, so that
/// durations nest.
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

/// The thread left a span for the first time: it may be over.
#[inline]
pub(crate) fn remember_left(key: Key) {
    with(|thread| thread.left.push(key));
}

/// A span is over. Returns whether the thread had just left it for the first time.
#[inline]
pub(crate) fn forget_left(key: Key) -> bool {
    let forget = |thread: &mut Thread| {
        let place = thread.left.iter().rposition(|left| *left == key)?;
        Some(thread.left.swap_remove(place))
    };
    with(forget).flatten().is_some()
}

/// A span of this layer that the thread had left for the first time, and that is not over although
/// the thread went on.
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
