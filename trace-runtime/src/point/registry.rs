//! All sites of a program: those that the linker laid side by side, those made at run time, and
//! those of other languages.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use trace_format::layout::StringRef;

use super::site::{sites, Site};
use crate::foreign;
use crate::provider::table::Table;

/// What a session does with a site.
pub(crate) trait Turn {
    /// Its category; empty where it is on while anything is recorded.
    fn category(&self) -> Cow<'_, str>;

    /// Turns the site on, with string refs from `intern`. It stays off if one of its strings has
    /// none.
    fn turn_on(&self, intern: &mut dyn FnMut(&str) -> Option<StringRef>) -> Option<()>;

    /// Turns the site off. Only stores.
    fn turn_off(&self);

    /// Shows category, name and keys to `take`: what has to be in the string table while the site
    /// is on.
    fn for_each_text(&self, take: &mut dyn FnMut(&str));
}

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

/// Turns every site on or off, as the table says.
pub(crate) fn turn_all(table: &mut Table) {
    all_sites().for_each(|site| table.turn(site));
    foreign::turn_all(table);
}

/// Turns every site off. Only stores.
///
/// # Safety
/// This is a forked child, and this its only thread.
pub(crate) unsafe fn turn_all_off() {
    all_sites().for_each(Turn::turn_off);
    // SAFETY: by the contract.
    unsafe { foreign::turn_all_off() };
}

/// The texts that the string table has to hold while every site is on.
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

/// The categories of all sites.
pub(crate) fn site_categories() -> BTreeSet<String> {
    let mut names: BTreeSet<String> =
        all_sites().map(|site| site.category().into_owned()).collect();
    foreign::read_all(|site| {
        names.insert(site.category().into_owned());
    });
    names.remove("");
    names
}

/// Every site of Rust's.
fn all_sites() -> impl Iterator<Item = &'static Site> {
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
