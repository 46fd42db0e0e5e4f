//! The targets of the records of `log`. They share a few callsites, so each target has a trace
//! point of its own.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use trace_runtime::context::{EventType, TracePoint};

/// The most targets with a trace point, which is never freed. Most targets are modules. Further
/// ones are recorded as [`OTHER`].
const MAX_TARGETS: usize = 1024;

/// The target of all records in `tracing-log`'s own metadata.
const OTHER: &str = "log";

/// A target, which is never freed.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// An instant with the keys `message`, `level`, `file` and `line`.
    pub(crate) point: TracePoint,
}

/// The arguments of a message.
const KEYS: [&str; 4] = ["message", "level", "file", "line"];

static BY_NAME: RwLock<Option<HashMap<&'static str, &'static Target>>> = RwLock::new(None);

/// The size of a thread's cache of targets.
const CACHED: usize = 64;

thread_local! {
    /// The targets that the thread used last. Without a destructor, so that it can be used until
    /// the thread has ended.
    static RECENT: [Cell<Option<&'static Target>>; CACHED] = const { [const { Cell::new(None) }; CACHED] };
}

/// Returns the target with this name, and creates it if it is new.
pub(crate) fn of(name: &str) -> Option<&'static Target> {
    RECENT.with(|recent| {
        let hash = name
            .bytes()
            .fold(0, |hash: usize, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        let place = recent.get(hash % CACHED)?;
        match place.get() {
            Some(found) if found.name == name => Some(found),
            _ => {
                let found = find(name).or_else(|| make(name))?;
                place.set(Some(found));
                Some(found)
            }
        }
    })
}

#[cold]
fn find(name: &str) -> Option<&'static Target> {
    let targets = BY_NAME.read().unwrap_or_else(PoisonError::into_inner);
    targets.as_ref()?.get(name).copied()
}

#[cold]
fn make(name: &str) -> Option<&'static Target> {
    let mut targets = BY_NAME.write().unwrap_or_else(PoisonError::into_inner);
    let targets = targets.get_or_insert_with(HashMap::new);
    let name = if targets.len() < MAX_TARGETS && !name.is_empty() { name } else { OTHER };
    if let Some(found) = targets.get(name) {
        return Some(found);
    }
    let name: &'static str = Box::leak(Box::from(name));
    let point = TracePoint::new(EventType::Instant, name, "", &KEYS);
    let made: &'static Target = Box::leak(Box::new(Target { name, point }));
    targets.insert(name, made);
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_beyond_the_limit_share_one() {
        let first = of("first").unwrap();
        assert_eq!(first.name, "first");
        assert!(std::ptr::eq(of("first").unwrap(), first));
        for number in 1..MAX_TARGETS {
            assert_eq!(of(&format!("{number}")).unwrap().name, format!("{number}"));
        }
        assert_eq!(of("one more").unwrap().name, OTHER);
        assert_eq!(of("another one").unwrap().name, OTHER);
        assert!(std::ptr::eq(of("first").unwrap(), first));
    }
}
