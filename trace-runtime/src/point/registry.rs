//! All Rust sites of a program, from the linker section or created at run time, and its alerts.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use trace_protocol::packet::AlertName;
use trace_provider::AlertCount;

use super::sections::{alerts, sites};
use super::site::Site;

/// The list of sites that were created at run time, the last one first.
///
/// Rules: pushed to by compare and exchange. Entries are never removed, so the list can be walked
/// at any time, also in a forked child.
static DYNAMIC_SITES: AtomicPtr<DynamicSite> = AtomicPtr::new(null_mut());

/// A site that was created at run time.
#[derive(Debug)]
struct DynamicSite {
    site: &'static Site,
    previous: *const DynamicSite,
}

/// Adds a site that is never freed.
pub(crate) fn add(site: &'static Site) {
    let entry =
        Box::leak(Box::new(DynamicSite { site, previous: DYNAMIC_SITES.load(Ordering::Acquire) }));
    while let Err(previous) = DYNAMIC_SITES.compare_exchange(
        entry.previous.cast_mut(),
        entry,
        Ordering::AcqRel,
        Ordering::Acquire,
    ) {
        entry.previous = previous;
    }
}

/// Returns the raised alerts with literal names.
pub(crate) fn raised() -> impl Iterator<Item = (AlertName, &'static AlertCount)> {
    let raised = alerts().iter().filter(|alert| alert.count().is_raised());
    raised.filter_map(|alert| Some((AlertName::new(alert.name())?, alert.count())))
}

/// Clears the raised alerts with literal names. Does nothing but stores.
pub(crate) fn forget_alerts() {
    alerts().iter().for_each(|alert| alert.count().clear());
}

/// Returns every Rust site.
pub(crate) fn all_sites() -> impl Iterator<Item = &'static Site> {
    sites().iter().chain(dynamic_sites())
}

fn dynamic_sites() -> impl Iterator<Item = &'static Site> {
    let mut next: *const DynamicSite = DYNAMIC_SITES.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: the pointer is null or came from `Box::leak` in `add`, and an entry does not
        // change once it is in the list.
        let entry = unsafe { next.as_ref() }?;
        next = entry.previous;
        Some(entry.site)
    })
}
