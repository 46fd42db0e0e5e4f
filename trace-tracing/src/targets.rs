//! The targets of the records of `log`, which come through a few callsites: each has a trace point
//! of its own.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use trace_runtime::context::{EventType, TracePoint};

/// Targets that are told apart, since they are never forgotten. Most are modules; further ones are
/// recorded as [`OTHER`].
const MAX_TARGETS: usize = 1024;

/// The target that `tracing-log` itself gives to records.
const OTHER: &str = "log";

/// A target. Lives for ever.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// An instant with the key `message`.
    pub(crate) point: TracePoint,
}

static BY_NAME: RwLock<Option<HashMap<&'static str, &'static Target>>> = RwLock::new(None);

/// Targets that a thread remembers.
const REMEMBERED: usize = 64;

thread_local! {
    /// The targets that the thread used last. Has no destructor, so that it can be used at any time
    /// in the life of a thread.
    static RECENT: [Cell<Option<&'static Target>>; REMEMBERED] = const { [const { Cell::new(None) }; REMEMBERED] };
}

/// The target with this name, which is made if it is new.
pub(crate) fn of(name: &str) -> Option<&'static Target> {
    RECENT.with(|recent| {
        let hash = name
            .bytes()
            .fold(0, |hash: usize, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        let place = recent.get(hash % REMEMBERED)?;
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
    let point = TracePoint::new(EventType::Instant, name, "", &["message"]);
    let made: &'static Target = Box::leak(Box::new(Target { name, point }));
    targets.insert(name, made);
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_kept_up_to_a_number_of_them() {
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
