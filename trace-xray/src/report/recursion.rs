//! Functions that call themselves, directly or not.

use std::collections::HashMap;

use crate::calls::ThreadKey;
use crate::record::FunctionId;

/// The open calls of each function of each thread.
#[derive(Debug, Default)]
pub(super) struct Recursion {
    open: HashMap<(ThreadKey, FunctionId), Open>,
}

/// The open calls of a function.
#[derive(Debug, Default)]
struct Open {
    depth: u64,
    /// Whether one of them was within another one since the outermost one began.
    is_recursive: bool,
}

impl Recursion {
    pub(super) fn enter(&mut self, thread: ThreadKey, function: FunctionId) {
        let open = self.open.entry((thread, function)).or_default();
        open.depth += 1;
        open.is_recursive |= open.depth > 1;
    }

    /// Ends a call. Returns whether it is within a call of the same function, or around one.
    pub(super) fn leave(&mut self, thread: ThreadKey, function: FunctionId) -> bool {
        let Some(open) = self.open.get_mut(&(thread, function)) else { return false };
        let is_recursive = open.is_recursive;
        open.depth -= 1;
        if open.depth == 0 {
            self.open.remove(&(thread, function));
        }
        is_recursive
    }
}
