//! The linker sections of sites, categories and alerts. The linker collects all statics of a
//! section, and defines symbols for its ends.

use trace_format::layout::EventType;

use super::alert::Alert;
use super::site::{Category, Name, Site};

// One static in each section, so that the section exists in every program.
#[used]
#[cfg_attr(not(miri), link_section = "trace_sites")]
static FIRST_SITE: Site = Site::event(EventType::Instant, "trace", Name::Text(""), &[]);

#[used]
#[cfg_attr(not(miri), link_section = "trace_categories")]
static FIRST_CATEGORY: Category = Category::new("trace", "events of the tracing system itself");

#[used]
#[cfg_attr(not(miri), link_section = "trace_alerts")]
static FIRST_ALERT: Alert = Alert::new("trace");

#[cfg(not(miri))]
#[allow(improper_ctypes, reason = "only the addresses of a section's ends are used")]
mod ends {
    use super::{Alert, Category, Site};

    extern "C" {
        #[link_name = "__start_trace_sites"]
        pub(super) static SITES_START: Site;
        #[link_name = "__stop_trace_sites"]
        pub(super) static SITES_STOP: Site;
        #[link_name = "__start_trace_categories"]
        pub(super) static CATEGORIES_START: Category;
        #[link_name = "__stop_trace_categories"]
        pub(super) static CATEGORIES_STOP: Category;
        #[link_name = "__start_trace_alerts"]
        pub(super) static ALERTS_START: Alert;
        #[link_name = "__stop_trace_alerts"]
        pub(super) static ALERTS_STOP: Alert;
    }
}

/// Returns the statics from `start` to `stop`.
///
/// # Safety
/// `start` and `stop` are the ends of a section that contains only statics of type `T`.
#[cfg(not(miri))]
unsafe fn section<T>(start: *const T, stop: *const T) -> &'static [T] {
    let length = (stop as usize - start as usize) / size_of::<T>();
    // SAFETY: by the contract there are `length` values of `T`, which are statics. A linker inserts
    // no padding between values of the same type.
    unsafe { core::slice::from_raw_parts(start, length) }
}

/// Returns all sites of the program.
#[cfg(not(miri))]
pub(crate) fn sites() -> &'static [Site] {
    // SAFETY: only the macros and this module put statics into the section, and they are
    // `Site`s.
    unsafe { section(&raw const ends::SITES_START, &raw const ends::SITES_STOP) }
}

/// Returns all categories that the program declares.
#[cfg(not(miri))]
pub(crate) fn categories() -> &'static [Category] {
    // SAFETY: only the macros and this module put statics into the section, and they are
    // `Category`s.
    unsafe { section(&raw const ends::CATEGORIES_START, &raw const ends::CATEGORIES_STOP) }
}

/// Returns all alerts of the program whose names are literals.
#[cfg(not(miri))]
pub(crate) fn alerts() -> &'static [Alert] {
    // SAFETY: only the macros and this module put statics into the section, and they are
    // `Alert`s.
    unsafe { section(&raw const ends::ALERTS_START, &raw const ends::ALERTS_STOP) }
}

/// Returns all alerts of the program whose names are literals.
#[cfg(miri)]
pub(crate) fn alerts() -> &'static [Alert] {
    core::slice::from_ref(&FIRST_ALERT)
}

/// Returns all sites of the program.
#[cfg(miri)]
pub(crate) fn sites() -> &'static [Site] {
    core::slice::from_ref(&FIRST_SITE)
}

/// Returns all categories that the program declares.
#[cfg(miri)]
pub(crate) fn categories() -> &'static [Category] {
    core::slice::from_ref(&FIRST_CATEGORY)
}
