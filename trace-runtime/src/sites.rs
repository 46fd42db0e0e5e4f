//! All sites of a program: those of Rust and those of other languages.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use trace_provider::{Table, Turn};

use crate::foreign;
use crate::point::registry::all_sites;
use crate::ENGINE;

/// Whether a site was added that is not turned on yet, although the table may select it.
static HAS_NEW: AtomicBool = AtomicBool::new(false);

/// Turns every site on or off by the table's categories.
pub(crate) fn turn_all(table: &mut Table) {
    all_sites().for_each(|site| table.turn(site));
    foreign::turn_all(table);
}

/// Has the service thread turn on the sites that were added. Works in signal handlers.
pub(crate) fn turn_later() {
    HAS_NEW.store(true, Ordering::Release);
}

/// Turns on the sites that were added with [`turn_later`].
pub(crate) fn turn_new() {
    if !HAS_NEW.swap(false, Ordering::Acquire) {
        return;
    }
    if let Some(table) = ENGINE.table().as_mut() {
        all_sites().filter(|site| !site.is_on()).for_each(|site| table.turn(site));
    }
}

/// Turns every site off. Does nothing but stores.
///
/// # Safety
/// The table's lock is held, or the caller is the only thread of a forked child.
pub(crate) unsafe fn turn_all_off() {
    all_sites().for_each(Turn::turn_off);
    // SAFETY: by the contract.
    unsafe { foreign::turn_all_off() };
}

/// Returns the strings that are registered if every site is on.
pub(crate) fn texts() -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let mut take = |text: &str| {
        if !text.is_empty() && !texts.contains(text) {
            texts.insert(text.to_owned());
        }
    };
    all_sites().for_each(|site| site.for_each_text(&mut take));
    foreign::read_all(|site| site.for_each_text(&mut take));
    texts
}

/// Returns the categories of all sites.
pub(crate) fn categories() -> BTreeSet<String> {
    let mut names: BTreeSet<String> =
        all_sites().map(|site| site.category().into_owned()).collect();
    foreign::read_all(|site| {
        names.insert(site.category().into_owned());
    });
    names.remove("");
    names
}
