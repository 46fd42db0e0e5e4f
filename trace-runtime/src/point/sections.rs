//! All statics of a kind in a program: the linker puts those of a section side by side and names
//! its ends.

use trace_format::layout::EventType;

use super::alert::Alert;
use super::site::{Category, Name, Site};

// One static of ours in each section, so that it exists in every program.
#[used]
#[cfg_attr(not(miri), link_section = "trace_sites")]
static FIRST_SITE: Site = Site::event(EventType::Instant, "trace", Name::Text(""), &[]);

#[used]
#[cfg_attr(not(miri), link_section = "trace_categories")]
static FIRST_CATEGORY: Category = Category::new("trace", "what the tracing system says of itself");

#[used]
#[cfg_attr(not(miri), link_section = "trace_alerts")]
static FIRST_ALERT: Alert = Alert::new("trace");

#[cfg(not(miri))]
#[allow(improper_ctypes, reason = "the ends of a section are known by address only")]
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

/// The statics from `start` up to `stop`.
///
/// # Safety
/// The two are the ends of a section in which there is nothing but statics of type `T`.
#[cfg(not(miri))]
unsafe fn section<T>(start: *const T, stop: *const T) -> &'static [T] {
    let length = (stop as usize - start as usize) / size_of::<T>();
    // SAFETY: by the contract there are `length` values of `T`, which are statics and live for
    // ever; a linker pads between values of one type and alignment with nothing.
    unsafe { core::slice::from_raw_parts(start, length) }
}

/// All sites of the program.
#[cfg(not(miri))]
pub(crate) fn sites() -> &'static [Site] {
    // SAFETY: only the macros and this module put statics into the section, and they are
    // `Site`s.
    unsafe { section(&raw const ends::SITES_START, &raw const ends::SITES_STOP) }
}

/// All categories that the program declares.
#[cfg(not(miri))]
pub(crate) fn categories() -> &'static [Category] {
    // SAFETY: only the macros and this module put statics into the section, and they are
    // `Category`s.
    unsafe { section(&raw const ends::CATEGORIES_START, &raw const ends::CATEGORIES_STOP) }
}

/// All alerts of the program whose names are literals.
#[cfg(not(miri))]
pub(crate) fn alerts() -> &'static [Alert] {
    // SAFETY: only the macros and this module put statics into the section, and they are
    // `Alert`s.
    unsafe { section(&raw const ends::ALERTS_START, &raw const ends::ALERTS_STOP) }
}

/// All alerts of the program whose names are literals.
#[cfg(miri)]
pub(crate) fn alerts() -> &'static [Alert] {
    core::slice::from_ref(&FIRST_ALERT)
}

/// All sites of the program.
#[cfg(miri)]
pub(crate) fn sites() -> &'static [Site] {
    core::slice::from_ref(&FIRST_SITE)
}

/// All categories that the program declares.
#[cfg(miri)]
pub(crate) fn categories() -> &'static [Category] {
    core::slice::from_ref(&FIRST_CATEGORY)
}
