//! The categories that are recorded.

use std::sync::atomic::{AtomicPtr, Ordering};

use trace_protocol::categories::CategorySet;

use crate::engine::problem::Problem;
use crate::lock::ProcessLock;

/// The categories of a provider's recordings, for questions at run time.
#[derive(Debug)]
pub(crate) struct Categories {
    /// Those of the recording under way, or of the last one. Null, or one of `kept`: never freed,
    /// since a traced thread may be looking at it.
    current: AtomicPtr<Wanted>,
    /// Every set that was ever recorded.
    kept: ProcessLock<Kept>,
}

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

    /// About as many bytes as it takes.
    fn bytes(&self) -> usize {
        let patterns = self.asked.patterns().iter().chain(self.allowed.patterns());
        // Each is there twice, as a text and as a pattern.
        let texts: usize = patterns.map(|text| 2 * (text.len() + size_of::<[String; 2]>())).sum();
        size_of::<Self>() + texts
    }
}

impl Categories {
    pub(crate) const fn new() -> Self {
        Self { current: AtomicPtr::new(std::ptr::null_mut()), kept: ProcessLock::new() }
    }

    /// Makes these the categories that [`Categories::matches`] looks at. Service thread only.
    ///
    /// Keeps each set once, for as long as the process lives: there are as many as different sets
    /// were asked for.
    ///
    /// # Errors
    /// If too many were asked for.
    pub(crate) fn remember(&'static self, wanted: &Wanted) -> Result<(), Problem> {
        let mut kept = self.kept.lock();
        let found = kept.sets.iter().copied().find(|kept| *kept == wanted);
        let wanted =
            found.or_else(|| kept.keep(wanted)).ok_or("it asks for too many categories")?;
        self.current.store(std::ptr::from_ref(wanted).cast_mut(), Ordering::Release);
        Ok(())
    }

    /// Whether `category` is one of the last recording's.
    pub(crate) fn matches(&self, category: &str) -> bool {
        // SAFETY: the pointer is null or that of a set that is kept for ever.
        let categories = unsafe { self.current.load(Ordering::Acquire).as_ref() };
        categories.is_some_and(|categories| categories.matches(category))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_come_again_are_kept_once() {
        static CATEGORIES: Categories = Categories::new();
        let wanted =
            |pattern: &str| Wanted::new(CategorySet::new(&[pattern]), CategorySet::default());
        let mut known = std::collections::HashSet::new();
        for turn in 0..10 {
            let wanted = wanted(if turn % 2 == 0 { "kept-once" } else { "kept-too" });
            CATEGORIES.remember(&wanted).unwrap();
            known.insert(CATEGORIES.current.load(Ordering::Acquire));
        }
        assert_eq!(known.len(), 2);
    }

    /// A manager that asks for other categories again and again fills no memory.
    #[test]
    fn only_so_many_sets_are_kept() {
        static CATEGORIES: Categories = Categories::new();
        let wanted = |number: usize| {
            let pattern = format!("{number}{}", "x".repeat(60 << 10));
            Wanted::new(CategorySet::new(&[pattern]), CategorySet::default())
        };
        let refused =
            (0..100).find(|number| CATEGORIES.remember(&wanted(*number)).is_err()).unwrap();
        assert!(refused > 10, "{refused}");
        CATEGORIES.remember(&wanted(0)).unwrap();
    }
}
