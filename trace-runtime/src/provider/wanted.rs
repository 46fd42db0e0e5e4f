//! The categories that are recorded.

use std::sync::atomic::{AtomicPtr, Ordering};

use trace_protocol::categories::CategorySet;

use super::lock::ProcessLock;
use super::received::Problem;
use crate::RECORDER;

/// The categories of the recording, for questions at run time. Null, or one of [`KEPT`]: never
/// freed, since a traced thread may be looking at it.
static CATEGORIES: AtomicPtr<Wanted> = AtomicPtr::new(std::ptr::null_mut());

/// Every set that was ever recorded.
static KEPT: ProcessLock<Kept> = ProcessLock::new();

/// Bytes of all sets that are kept, so that no manager can fill the program's memory with them.
const MOST_BYTES: usize = 4 << 20;

#[derive(Debug, Default)]
struct Kept {
    sets: Vec<&'static Wanted>,
    bytes: usize,
}

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

    /// Makes these the categories that [`is_category_enabled`] looks at. Service thread only.
    ///
    /// Keeps each set once, for as long as the process lives: there are as many as different sets
    /// were asked for.
    ///
    /// # Errors
    /// If too many were asked for.
    pub(super) fn remember(&self) -> Result<(), Problem> {
        let mut kept = KEPT.lock();
        let found = kept.sets.iter().copied().find(|kept| *kept == self);
        let wanted = found.or_else(|| kept.keep(self)).ok_or("it asks for too many categories")?;
        CATEGORIES.store(std::ptr::from_ref(wanted).cast_mut(), Ordering::Release);
        Ok(())
    }

    /// About as many bytes as it takes.
    fn bytes(&self) -> usize {
        let patterns = self.asked.patterns().iter().chain(self.allowed.patterns());
        // Each is there twice, as a text and as a pattern.
        let texts: usize = patterns.map(|text| 2 * (text.len() + size_of::<[String; 2]>())).sum();
        size_of::<Self>() + texts
    }
}

/// Whether `category` is being recorded.
pub fn is_category_enabled(category: &str) -> bool {
    // SAFETY: the pointer is null or that of a set that is kept for ever.
    let categories = unsafe { CATEGORIES.load(Ordering::Acquire).as_ref() };
    RECORDER.is_recording() && categories.is_some_and(|categories| categories.matches(category))
}

impl Kept {
    fn keep(&mut self, wanted: &Wanted) -> Option<&'static Wanted> {
        self.bytes += wanted.bytes();
        if self.bytes > MOST_BYTES {
            self.bytes -= wanted.bytes();
            return None;
        }
        let new: &'static Wanted = Box::leak(Box::new(wanted.clone()));
        self.sets.push(new);
        Some(new)
    }
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
            wanted(if turn % 2 == 0 { "kept-once" } else { "kept-too" }).remember().unwrap();
            known.insert(CATEGORIES.load(Ordering::Acquire));
        }
        assert_eq!(known.len(), 2);
    }
    /// A manager that asks for other categories again and again fills no memory.
    #[test]
    fn only_so_many_sets_are_kept() {
        let wanted = |number: usize| {
            let pattern = format!("{number}{}", "x".repeat(60 << 10));
            Wanted::new(CategorySet::new(&[pattern]), CategorySet::default())
        };
        let refused = (0..100).find(|number| wanted(*number).remember().is_err()).unwrap();
        assert!(refused > 10, "{refused}");
        wanted(0).remember().unwrap();
    }
}
