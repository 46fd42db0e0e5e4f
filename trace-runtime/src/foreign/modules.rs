//! The modules of the process that have trace points: the program itself, and shared libraries.

use std::ptr::{self, null_mut};
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use trace_provider::{Table, Turn};

use super::Site;
use crate::ENGINE;

/// The module that was loaded last.
///
/// Rules: this and the `next` of each module are stored under the table's lock. At each moment they
/// make up a list of modules that are loaded, so that a forked child can walk it although another
/// thread of its parent held the lock.
static MODULES: AtomicPtr<Module> = AtomicPtr::new(null_mut());

/// What this crate takes the fields of its statics to be. A module that was compiled with another
/// header stays off.
const VERSION: u32 = 1;

/// The static of a module: `struct trace_c_module` of the header.
#[derive(Debug)]
#[repr(C)]
pub struct Module {
    next: AtomicPtr<Module>,
    start: *const *const Site,
    stop: *const *const Site,
    version: u32,
    /// The module's own count of its translation units.
    _users: u32,
}

impl Module {
    /// Its sites, some perhaps twice.
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

/// Takes the sites of a module that is being loaded. Those that a recording under way wants are on
/// when this returns.
///
/// Takes a lock and may allocate. Not for signal handlers.
///
/// # Safety
/// `module` is a static that only this module stores to, and was not loaded before or unloaded
/// since. If its version is the one that is known here, then `start` and `stop` are the ends of a
/// section in which there are pointers to sites, or null. The texts of a site end with zeros and
/// never change, it has as many keys as it says, 15 at most, and only this crate stores to it. All
/// this lasts until [`unload`] or the end of the process.
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

/// Forgets the sites of a module that is about to be unloaded.
///
/// # Safety
/// `module` was loaded.
pub unsafe fn unload(module: *const Module) {
    let _locked = ENGINE.table();
    let mut link = &MODULES;
    loop {
        let next = link.load(Ordering::Relaxed);
        // SAFETY: by the rules of `MODULES`; the lock is held, so that it stays loaded.
        let Some(found) = (unsafe { next.as_ref() }) else { return };
        if ptr::eq(found, module) {
            link.store(found.next.load(Ordering::Relaxed), Ordering::Release);
            return;
        }
        link = &found.next;
    }
}

/// Every site of every module.
///
/// # Safety
/// While the result is used the table's lock is held, or this is the only thread of the process.
unsafe fn sites() -> impl Iterator<Item = &'static Site> {
    let mut next = MODULES.load(Ordering::Acquire);
    let modules = std::iter::from_fn(move || {
        // SAFETY: by the contract no module is unloaded meanwhile, and what is in the list is
        // loaded.
        let module = unsafe { next.as_ref() }?;
        next = module.next.load(Ordering::Acquire);
        Some(module)
    });
    modules.flat_map(Module::sites)
}

/// Turns every site on or off, as the table says.
pub(crate) fn turn_all(table: &mut Table) {
    // SAFETY: the table is behind its lock, so that who has a reference to it holds that.
    unsafe { sites() }.for_each(|site| table.turn(site));
}

/// Shows every site to `read`.
pub(crate) fn read_all(read: impl FnMut(&Site)) {
    let _locked = ENGINE.table();
    // SAFETY: the lock is held.
    unsafe { sites() }.for_each(read);
}

/// Turns every site off. Only stores.
///
/// # Safety
/// This is a forked child, and this its only thread.
pub(crate) unsafe fn turn_all_off() {
    // SAFETY: by the contract.
    unsafe { sites() }.for_each(Turn::turn_off);
}
