//! The modules with trace points in this process: the program and shared libraries.

use std::ptr::{self, null_mut};
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use trace_provider::{Table, Turn};

use super::Site;
use crate::ENGINE;

/// The list of loaded modules, the last loaded first.
///
/// Rules: this and the `next` of each module are stored under the table's lock, and form a valid
/// list at every moment. So a forked child can walk it even if another thread of its parent held
/// the lock.
static MODULES: AtomicPtr<Module> = AtomicPtr::new(null_mut());

/// The layout version of the statics. A module that was compiled with another version of the header
/// stays off.
const VERSION: u32 = 1;

/// The static of a module: `struct trace_c_module` of the header.
#[derive(Debug)]
#[repr(C)]
pub struct Module {
    next: AtomicPtr<Module>,
    start: *const *const Site,
    stop: *const *const Site,
    version: u32,
    /// The number of translation units, which the module counts itself.
    _users: u32,
}

impl Module {
    /// Creates the module of sites that are never freed.
    pub const fn of(sites: &'static [*const Site]) -> Self {
        let range = sites.as_ptr_range();
        Self {
            next: AtomicPtr::new(null_mut()),
            start: range.start,
            stop: range.end,
            version: VERSION,
            _users: 0,
        }
    }

    /// Returns its sites. A site may occur twice.
    fn sites(&self) -> impl Iterator<Item = &Site> {
        let length =
            (self.stop as usize).saturating_sub(self.start as usize) / size_of::<*const Site>();
        let sites: &[*const Site] = if length == 0 || self.version != VERSION {
            &[]
        } else {
            // SAFETY: by the contract of `load`, these are the ends of a section of pointers.
            unsafe { slice::from_raw_parts(self.start, length) }
        };
        // SAFETY: by the contract of `load`, each is null or points to a site.
        sites.iter().filter_map(|site| unsafe { site.as_ref() })
    }
}

/// Registers the sites of a module that is loaded. When it returns, sites whose category is
/// recorded are on.
///
/// Takes a lock and may allocate. Not async-signal-safe.
///
/// # Safety
/// - `module` is a static that only this Rust module stores to. It is not loaded already.
/// - If its version is that of this crate, then `start` and `stop` are the ends of a section of
///   pointers to sites, or null.
/// - The texts of a site end with a zero byte and never change. A site has as many keys as it
///   states, at most 15, and only this crate stores to it.
/// - All this holds until [`unload`] or the end of the process.
pub unsafe fn load(module: *const Module) {
    let mut table = ENGINE.table();
    // SAFETY: by the contract.
    let loaded = unsafe { &*module };
    loaded.next.store(MODULES.load(Ordering::Relaxed), Ordering::Relaxed);
    MODULES.store(module.cast_mut(), Ordering::Release);
    if let Some(table) = table.as_mut() {
        loaded.sites().for_each(|site| table.turn(site));
    }
}

/// Unregisters the sites of a module that is about to be unloaded. Takes a lock.
///
/// # Safety
/// `module` was registered by [`load`].
pub unsafe fn unload(module: *const Module) {
    let _locked = ENGINE.table();
    let mut link = &MODULES;
    loop {
        let next = link.load(Ordering::Relaxed);
        // SAFETY: by the rules of `MODULES`. The lock is held, so the module stays loaded.
        let Some(found) = (unsafe { next.as_ref() }) else { return };
        if ptr::eq(found, module) {
            link.store(found.next.load(Ordering::Relaxed), Ordering::Release);
            return;
        }
        link = &found.next;
    }
}

/// Returns every site of every module.
///
/// # Safety
/// While the result is used, the table's lock is held, or this is the only thread of the process.
unsafe fn sites() -> impl Iterator<Item = &'static Site> {
    let mut next = MODULES.load(Ordering::Acquire);
    let modules = std::iter::from_fn(move || {
        // SAFETY: by the contract no module is unloaded meanwhile, and every module in the list is
        // loaded.
        let module = unsafe { next.as_ref() }?;
        next = module.next.load(Ordering::Acquire);
        Some(module)
    });
    modules.flat_map(Module::sites)
}

/// Turns every site on or off by the table's categories.
pub(crate) fn turn_all(table: &mut Table) {
    // SAFETY: the table is inside its lock, so the caller's reference proves that the lock is held.
    unsafe { sites() }.for_each(|site| table.turn(site));
}

/// Calls `read` with every site.
pub(crate) fn read_all(read: impl FnMut(&Site)) {
    let _locked = ENGINE.table();
    // SAFETY: the lock is held.
    unsafe { sites() }.for_each(read);
}

/// Turns every site off. Does nothing but stores.
///
/// # Safety
/// The table's lock is held, or the caller is the only thread of a forked child.
pub(crate) unsafe fn turn_all_off() {
    // SAFETY: by the contract.
    unsafe { sites() }.for_each(Turn::turn_off);
}
