//! The categories that are recorded.

use std::sync::atomic::{AtomicPtr, Ordering};

use trace_protocol::categories::CategorySet;

use crate::RECORDER;

/// The categories of the recording, for questions at run time. Never freed, since a traced thread may be looking at it.
static CATEGORIES: AtomicPtr<Wanted> = AtomicPtr::new(std::ptr::null_mut());

/// The categories that are recorded: those that a session asks for, of those that the application allows.
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
    // SAFETY: the pointer is null or came from `Box::leak`.
    let categories = unsafe { CATEGORIES.load(Ordering::Acquire).as_ref() };
    RECORDER.is_recording() && categories.is_some_and(|categories| categories.matches(category))
}

/// Makes these the categories that [`is_category_enabled`] looks at.
pub(super) fn remember(categories: &Wanted) {
    // SAFETY: the pointer is null or came from `Box::leak` below.
    let old = unsafe { CATEGORIES.load(Ordering::Acquire).as_ref() };
    if old != Some(categories) {
        CATEGORIES.store(Box::leak(Box::new(categories.clone())), Ordering::Release);
    }
}
