//! The categories that are recorded.

use std::sync::atomic::{AtomicPtr, Ordering};

use trace_protocol::categories::CategorySet;

use super::lock::ProcessLock;
use crate::RECORDER;

/// The categories of the recording, for questions at run time. Null, or one of [`KEPT`]: never
/// freed, since a traced thread may be looking at it.
static CATEGORIES: AtomicPtr<Wanted> = AtomicPtr::new(std::ptr::null_mut());

/// Every set that was ever recorded.
static KEPT: ProcessLock<Vec<&'static Wanted>> = ProcessLock::new();

/// The categories that are recorded: those that a session asks for, of those that the application
/// allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    asked: CategorySet,
    allowed: CategorySet,
}

impl Wanted {
    pub(crate) fn new(asked: CategorySet, allowed: CategorySet) -> Self {
        Self { asked, allowed }
    }

    pub(crate) fn matches(&self, category: &str) -> bool {
        self.asked.matches(category) && self.allowed.matches(category)
    }
}

/// Whether `category` is being recorded.
pub fn is_category_enabled(category: &str) -> bool {
    // SAFETY: the pointer is null or that of a set that is kept for ever.
    let categories = unsafe { CATEGORIES.load(Ordering::Acquire).as_ref() };
    RECORDER.is_recording() && categories.is_some_and(|categories| categories.matches(category))
}

/// Makes these the categories that [`is_category_enabled`] looks at. Service thread only.
///
/// Keeps each set once, for as long as the process lives: there are as many as different sets were
/// asked for.
pub(super) fn remember(categories: &Wanted) {
    let mut kept = KEPT.lock();
    let found = kept.iter().copied().find(|kept| *kept == categories);
    let wanted = found.unwrap_or_else(|| {
        let new: &'static Wanted = Box::leak(Box::new(categories.clone()));
        kept.push(new);
        new
    });
    CATEGORIES.store(std::ptr::from_ref(wanted).cast_mut(), Ordering::Release);
}

/// Makes a forked child forget the lock that its parent may have held. Only stores.
pub(super) fn forget() {
    KEPT.forget();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_come_again_are_kept_once() {
        let wanted =
            |pattern: &str| Wanted::new(CategorySet::new(&[pattern]), CategorySet::default());
        let mut known = std::collections::HashSet::new();
        for turn in 0..10 {
            remember(&wanted(if turn % 2 == 0 { "kept-once" } else { "kept-too" }));
            known.insert(CATEGORIES.load(Ordering::Acquire));
        }
        assert_eq!(known.len(), 2);
    }
}
