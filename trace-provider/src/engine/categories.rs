//! Selected categories.

use std::sync::atomic::{AtomicPtr, Ordering};

use trace_protocol::categories::CategorySet;

use crate::engine::problem::Problem;
use crate::lock::ProcessLock;

/// The selected categories of a provider's recordings, for checks at run time.
#[derive(Debug)]
pub(crate) struct Categories {
    /// The selection of the current or last recording. Null, or one of `kept`: never freed, because
    /// a traced thread may read it.
    current: AtomicPtr<SelectedCategories>,
    /// The selections of all recordings.
    kept: ProcessLock<Kept>,
}

/// The most bytes of all selections, so that a manager cannot fill the program's memory.
const MOST_BYTES: usize = 4 << 20;

#[derive(Debug, Default)]
struct Kept {
    selections: Vec<&'static SelectedCategories>,
    bytes: usize,
}

/// The categories that a session requests, of those that the application allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectedCategories {
    requested: CategorySet,
    allowed: CategorySet,
}

impl SelectedCategories {
    pub(crate) fn new(requested: CategorySet, allowed: CategorySet) -> Self {
        Self { requested, allowed }
    }

    pub(crate) fn matches(&self, category: &str) -> bool {
        self.requested.matches(category) && self.allowed.matches(category)
    }

    /// Returns the approximate size in bytes.
    fn bytes(&self) -> usize {
        let patterns = self.requested.patterns().iter().chain(self.allowed.patterns());
        // A set has each pattern twice: as text and parsed.
        let texts: usize = patterns.map(|text| 2 * (text.len() + size_of::<[String; 2]>())).sum();
        size_of::<Self>() + texts
    }
}

impl Categories {
    pub(crate) const fn new() -> Self {
        Self { current: AtomicPtr::new(std::ptr::null_mut()), kept: ProcessLock::new() }
    }

    /// Sets the selection that [`Categories::matches`] checks. Service thread only.
    ///
    /// Keeps each different selection once, until the process ends.
    ///
    /// # Errors
    /// If the selections become too large.
    pub(crate) fn select(&'static self, selected: &SelectedCategories) -> Result<(), Problem> {
        let mut kept = self.kept.lock();
        let found = kept.selections.iter().copied().find(|kept| *kept == selected);
        let selected =
            found.or_else(|| kept.keep(selected)).ok_or("it requests too many categories")?;
        self.current.store(std::ptr::from_ref(selected).cast_mut(), Ordering::Release);
        Ok(())
    }

    /// Returns whether the current or last recording selected `category`.
    pub(crate) fn matches(&self, category: &str) -> bool {
        // SAFETY: the pointer is null or refers to a selection that is never freed.
        let categories = unsafe { self.current.load(Ordering::Acquire).as_ref() };
        categories.is_some_and(|categories| categories.matches(category))
    }
}

impl Kept {
    fn keep(&mut self, selected: &SelectedCategories) -> Option<&'static SelectedCategories> {
        self.bytes += selected.bytes();
        if self.bytes > MOST_BYTES {
            self.bytes -= selected.bytes();
            return None;
        }
        let new: &'static SelectedCategories = Box::leak(Box::new(selected.clone()));
        self.selections.push(new);
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_selections_are_kept_once() {
        static CATEGORIES: Categories = Categories::new();
        let mut kept = std::collections::HashSet::new();
        for round in 0..10 {
            let pattern = if round % 2 == 0 { "even" } else { "odd" };
            let requested = CategorySet::new(&[pattern]);
            let selected = SelectedCategories::new(requested, CategorySet::default());
            CATEGORIES.select(&selected).unwrap();
            kept.insert(CATEGORIES.current.load(Ordering::Acquire));
        }
        assert_eq!(kept.len(), 2);
    }

    /// A manager cannot fill the memory by requests for different categories.
    #[test]
    fn the_size_of_all_selections_is_bounded() {
        static CATEGORIES: Categories = Categories::new();
        let selected = |number: usize| {
            let pattern = format!("{number}{}", "x".repeat(60 << 10));
            SelectedCategories::new(CategorySet::new(&[pattern]), CategorySet::default())
        };
        let refused =
            (0..100).find(|number| CATEGORIES.select(&selected(*number)).is_err()).unwrap();
        assert!(refused > 10, "{refused}");
        CATEGORIES.select(&selected(0)).unwrap();
    }
}
