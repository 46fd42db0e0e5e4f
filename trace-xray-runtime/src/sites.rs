//! The trace points of functions. They are never freed: a thread may use them at any time.

use std::ffi::{CStr, CString};

use trace_runtime::foreign::{self, Module, Site};

/// The category of all functions.
const CATEGORY: &CStr = c"xray";

/// Makes the trace point of a function.
pub(crate) fn make(name: &str) -> &'static Site {
    let bytes: Vec<u8> = name.bytes().filter(|byte| *byte != 0).collect();
    let name: &'static CStr = Box::leak(CString::new(bytes).unwrap_or_default().into_boxed_c_str());
    Box::leak(Box::new(Site::duration(CATEGORY, name)))
}

/// Registers trace points, so that sessions turn them on and off.
pub(crate) fn register(sites: impl Iterator<Item = &'static Site>) {
    let sites: Vec<*const Site> = sites.map(std::ptr::from_ref).collect();
    let module = Box::leak(Box::new(Module::of(Vec::leak(sites))));
    // SAFETY: the module, its sites and their texts live as long as the process, and the module is
    // registered once, here.
    unsafe { foreign::load(module) };
}
