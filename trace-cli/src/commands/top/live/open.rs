//! Scopes and operations that have not ended. A live stream has the begin and the end of a long
//! scope as two records.

use std::collections::HashMap;

use trace_format::ThreadKoids;

/// The most threads, and the most operations, that are tracked.
const MAX: usize = 1 << 16;

/// The most open scopes of a thread.
const MAX_DEPTH: usize = 256;

/// A provider's thread.
type Thread = (Option<u32>, u64, u64);

/// The open scopes and operations.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// The open scopes of each thread: number of the name, and begin in nanoseconds.
    scopes: HashMap<Thread, Vec<(Option<usize>, u64)>>,
    /// The open operations: by number of the name, and id.
    operations: HashMap<(usize, u64), u64>,
}

impl Open {
    /// Adds a scope. `name` is `None` if it is not selected.
    pub(super) fn begin(
        &mut self,
        provider: Option<u32>,
        thread: ThreadKoids,
        name: Option<usize>,
        at: u64,
    ) {
        let key = (provider, thread.process, thread.thread);
        if self.scopes.len() >= MAX && !self.scopes.contains_key(&key) {
            return;
        }
        let stack = self.scopes.entry(key).or_default();
        if stack.len() < MAX_DEPTH {
            stack.push((name, at));
        }
    }

    /// Ends the innermost scope of a thread. Returns its name and its duration.
    pub(super) fn end(
        &mut self,
        provider: Option<u32>,
        thread: ThreadKoids,
        at: u64,
    ) -> Option<(usize, u64)> {
        let stack = self.scopes.get_mut(&(provider, thread.process, thread.thread))?;
        let (name, begin) = stack.pop()?;
        Some((name?, at.saturating_sub(begin)))
    }

    pub(super) fn begin_operation(&mut self, name: usize, id: u64, at: u64) {
        if self.operations.len() < MAX {
            self.operations.insert((name, id), at);
        }
    }

    /// Ends an operation. Returns its duration, if its begin is in the stream.
    pub(super) fn end_operation(&mut self, name: usize, id: u64, at: u64) -> Option<u64> {
        self.operations.remove(&(name, id)).map(|begin| at.saturating_sub(begin))
    }
}
