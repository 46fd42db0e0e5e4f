//! All sites of Rust's in a program: those that the linker laid side by side, and those made at run
//! time. And its alerts.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use trace_protocol::packet::AlertName;
use trace_provider::AlertCount;

use super::sections::{alerts, sites};
use super::site::Site;

/// The site that was made last.
///
/// Rules: pushed to with compare and exchange; nothing is ever taken away, so that it can be walked
/// at any time, also in a forked child.
static MADE: AtomicPtr<Made> = AtomicPtr::new(null_mut());

/// A site that was made at run time.
#[derive(Debug)]
struct Made {
    site: &'static Site,
    before: *const Made,
}

/// Adds a site that lives for ever.
pub(crate) fn add(site: &'static Site) {
    let made = Box::leak(Box::new(Made { site, before: MADE.load(Ordering::Acquire) }));
    while let Err(before) =
        MADE.compare_exchange(made.before.cast_mut(), made, Ordering::AcqRel, Ordering::Acquire)
    {
        made.before = before;
    }
}

/// The alerts with literal names that are raised.
pub(crate) fn raised() -> impl Iterator<Item = (AlertName, &'static AlertCount)> {
    let raised = alerts().iter().filter(|alert| alert.count().is_raised());
    raised.filter_map(|alert| Some((AlertName::new(alert.name())?, alert.count())))
}

/// Forgets the alerts that were raised. Only stores.
pub(crate) fn forget_alerts() {
    alerts().iter().for_each(|alert| alert.count().clear());
}

/// Every site of Rust's.
pub(crate) fn all_sites() -> impl Iterator<Item = &'static Site> {
    sites().iter().chain(made())
}

fn made() -> impl Iterator<Item = &'static Site> {
    let mut next: *const Made = MADE.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: the pointer is null or came from `Box::leak` in `add`, and what it points to is
        // not changed once it is in the list.
        let made = unsafe { next.as_ref() }?;
        next = made.before;
        Some(made.site)
    })
}
