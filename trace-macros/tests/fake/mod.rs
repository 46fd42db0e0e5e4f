//! A runtime that remembers, per thread, which scopes began and ended: what an expansion does, seen without a
//! session, a buffer or a reader. Its macro takes the form that `#[trace_fn]` emits and no other.

use std::cell::RefCell;
use std::fmt::Debug;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Ends its scope when dropped.
pub(crate) struct Scope(&'static str);

pub(crate) fn begin(
    category: &'static str,
    name: &'static str,
    arguments: &[(&'static str, &dyn Debug)],
) -> Scope {
    let mut line = format!("begin {category} {name}");
    for (key, value) in arguments {
        line.push_str(&format!(" {key}={value:?}"));
    }
    note(line);
    Scope(name)
}

impl Drop for Scope {
    fn drop(&mut self) {
        note(format!("end {}", self.0));
    }
}

/// Adds a line of the test's own.
pub(crate) fn note(line: impl Into<String>) {
    LOG.with_borrow_mut(|log| log.push(line.into()));
}

/// The lines of this thread since the last call.
pub(crate) fn taken() -> Vec<String> {
    LOG.take()
}

macro_rules! trace_duration {
    ($category:literal, $name:literal $(, $key:literal => $value:expr)*) => {
        let _scope = $crate::fake::begin($category, $name, &[$(($key, &$value)),*]);
    };
}
pub(crate) use trace_duration;
