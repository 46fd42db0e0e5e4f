//! The signal stacks of threads, as the program has set them by sigaltstack(2).
//!
//! The kernel is not asked, since that is a system call.

use std::cell::Cell;
use std::ops::Range;

thread_local! {
    /// The addresses of the thread's signal stack; none if both are 0.
    static STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Stores the signal stack of the calling thread, or an empty range if it has none.
pub(crate) fn set_stack(stack: Range<usize>) {
    STACK.set((stack.start, stack.end));
}

/// Returns the signal stack of the calling thread, if it has one.
pub(crate) fn stack() -> Option<Range<usize>> {
    let (start, end) = STACK.get();
    (end > start).then_some(start..end)
}
