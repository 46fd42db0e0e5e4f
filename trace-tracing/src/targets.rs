//! The targets of the records of `log`. They share a few callsites, so each target has a trace
//! point of its own.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use once_cell::race::OnceBox;
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

/// All targets, by the hash of the name. If that place belongs to another target, the next one is
/// tried. At least about half of the places are free.
static BY_NAME: [OnceBox<Target>; 2 * MAX_TARGETS] = [const { OnceBox::new() }; 2 * MAX_TARGETS];

/// The number of targets. More than there are, if threads have created the same one.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The size of a thread's cache of targets.
const CACHED: usize = 64;

thread_local! {
    /// The targets that the thread used last. Without a destructor, so that it can be used until
    /// the thread has ended.
    static RECENT: [Cell<Option<&'static Target>>; CACHED] = const { [const { Cell::new(None) }; CACHED] };
}

/// Returns the target with this name, and creates it if it is new. Takes no lock, except to create
/// it.
pub(crate) fn of(name: &str) -> Option<&'static Target> {
    RECENT.with(|recent| {
        let hash = name
            .bytes()
            .fold(0, |hash: usize, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        let place = recent.get(hash % CACHED)?;
        match place.get() {
            Some(found) if found.name == name => Some(found),
            _ => {
                let found = find(name, hash)?;
                place.set(Some(found));
                Some(found)
            }
        }
    })
}

#[cold]
fn find(name: &str, hash: usize) -> Option<&'static Target> {
    let (before, from) = BY_NAME.split_at(hash % BY_NAME.len());
    for place in from.iter().chain(before) {
        let is_full = || COUNT.load(Ordering::Relaxed) >= MAX_TARGETS && name != OTHER;
        let found = match place.get() {
            None if name.is_empty() || is_full() => return of(OTHER),
            None => place.get_or_init(|| Box::new(make(name))),
            Some(found) => found,
        };
        if found.name == name {
            return Some(found);
        }
    }
    None
}

fn make(name: &str) -> Target {
    COUNT.fetch_add(1, Ordering::Relaxed);
    let name: &'static str = Box::leak(Box::from(name));
    Target { name, point: TracePoint::new(EventType::Instant, name, "", &KEYS) }
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
