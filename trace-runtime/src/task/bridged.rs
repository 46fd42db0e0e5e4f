//! Spans of a bridge as parents of tasks.
//!
//! A bridge gives a span an id only if it records it as an operation. While a thread is in a span,
//! the current task is [`Current::SPAN`], and the bridge returns the id when a task needs it.

use once_cell::race::OnceBox;

use super::current::{self, Current};
use crate::RECORDER;

/// Returns the id of the innermost span of the calling thread, which becomes an operation.
type SpanId = fn() -> Option<u64>;

static SPAN_ID: OnceBox<SpanId> = OnceBox::new();

/// The task that a thread polled when it entered a span.
#[derive(Clone, Copy, Debug)]
pub struct OuterTask(Current);

/// Sets the function that returns the id of the calling thread's innermost span, or `None` if the
/// span is not recorded. Only the first call has an effect.
///
/// It is called when a traced future begins in a span, on the thread of the future.
pub fn set_span_ids(span_id: fn() -> Option<u64>) {
    SPAN_ID.get_or_init(|| Box::new(span_id));
}

/// Notes that the thread enters a span of the bridge: futures that begin in it are its children.
#[inline]
#[must_use = "the span must be left"]
pub fn enter_span() -> OuterTask {
    OuterTask(current::replace(Current::SPAN))
}

/// Notes that the thread leaves the span. Spans may be left in any order.
#[inline]
pub fn leave_span(outer: OuterTask) {
    if current::get().is_span() {
        current::restore(outer.0);
    }
}

/// Returns the id of the traced future that the thread polls, or `None` if it polls none, or is in
/// a span in it.
#[inline]
#[must_use]
pub fn polled_task() -> Option<u64> {
    current::get().in_recording(RECORDER.recording())
}

/// Returns the number of the current or last recording, or 0 before the first one. Each recording
/// has another number.
#[inline]
#[must_use]
pub fn recording() -> u64 {
    RECORDER.recording()
}

/// Returns the current task, and instead of a span its operation.
#[inline(always)]
pub(super) fn current_task() -> Current {
    let current = current::get();
    match current.is_span() {
        true => operation_of_span(),
        false => current,
    }
}

#[cold]
fn operation_of_span() -> Current {
    match SPAN_ID.get().and_then(|span_id| span_id()) {
        Some(id) => Current { id, recording: RECORDER.recording() },
        None => Current::NONE,
    }
}
