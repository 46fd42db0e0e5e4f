//! The life of a provider, modules, and the common trace points.

use std::ffi::{c_char, CStr};
use std::hint::black_box;

use trace_runtime::foreign::{self, Argument, Module, Scope, Site};
use trace_runtime::Builder;

use crate::contain::contain;
use crate::{guard, records, status};

/// Makes this process a trace provider, as [`trace_runtime::init`] does, until [`trace_shutdown`].
#[no_mangle]
pub extern "C" fn trace_init() {
    begin(|builder| builder);
}

/// Like [`trace_init`], with a name for the provider. Null selects the name of the process.
///
/// # Safety
/// `name` is null or a text with a zero at its end.
#[no_mangle]
pub unsafe extern "C" fn trace_init_named(name: *const c_char) {
    if name.is_null() {
        return trace_init();
    }
    // SAFETY: by the contract.
    let name = unsafe { CStr::from_ptr(name) };
    begin(|builder| builder.name(name.to_string_lossy()));
}

/// Reverts [`trace_init`], after any number of calls, and saves all records.
#[no_mangle]
pub extern "C" fn trace_shutdown() {
    contain((), || guard::hold(None));
}

/// Returns an id that is unique on this machine, and never 0.
#[no_mangle]
pub extern "C" fn trace_nonce() -> u64 {
    trace_runtime::trace_nonce!()
}

/// Raises an alert, as [`trace_runtime::raise_alert`] does.
///
/// # Safety
/// `name` is a text with a zero at its end.
#[no_mangle]
pub unsafe extern "C" fn trace_c_alert(name: *const c_char) {
    // SAFETY: by the contract.
    let name = unsafe { CStr::from_ptr(name) };
    if let Ok(name) = name.to_str() {
        // An alert that cannot be sent is reported in the trace.
        let _sent = trace_runtime::raise_alert(name);
    }
}

/// Registers the sites of a module that is being loaded. The header calls this before `main`, or
/// within `dlopen`.
///
/// # Safety
/// As for [`foreign::load`].
#[no_mangle]
pub unsafe extern "C" fn trace_c_load(module: *const Module) {
    // A library that is loaded later may call functions that the program does not: this makes the
    // linker keep all of them.
    black_box(&EXPORTED);
    // SAFETY: by the contract.
    contain((), || unsafe { foreign::load(module) });
}

/// Removes the sites of a module that is about to be unloaded.
///
/// # Safety
/// As for [`foreign::unload`].
#[no_mangle]
pub unsafe extern "C" fn trace_c_unload(module: *const Module) {
    // SAFETY: by the contract.
    contain((), || unsafe { foreign::unload(module) });
}

/// Writes an event.
///
/// # Safety
/// As for [`foreign::event`].
#[no_mangle]
pub unsafe extern "C" fn trace_c_event(site: *const Site, arguments: *const Argument, tail: u64) {
    // SAFETY: by the contract.
    unsafe { foreign::event(site, arguments, tail) };
}

/// Begins a duration.
///
/// # Safety
/// As for [`foreign::begin`].
#[no_mangle]
pub unsafe extern "C" fn trace_c_begin(
    scope: *mut Scope,
    site: *const Site,
    arguments: *const Argument,
) {
    // SAFETY: by the contract.
    unsafe { foreign::begin(scope, site, arguments) };
}

/// Ends a duration that [`trace_c_begin`] began.
///
/// # Safety
/// As for [`foreign::end`].
#[no_mangle]
pub unsafe extern "C" fn trace_c_end(scope: *mut Scope) {
    // SAFETY: by the contract.
    unsafe { foreign::end(scope) };
}

/// Functions that the header declares and [`trace_c_load`] does not call.
struct Exported {
    _init: extern "C" fn(),
    _init_named: unsafe extern "C" fn(*const c_char),
    _shutdown: extern "C" fn(),
    _nonce: extern "C" fn() -> u64,
    _unload: unsafe extern "C" fn(*const Module),
    _event: unsafe extern "C" fn(*const Site, *const Argument, u64),
    _begin: unsafe extern "C" fn(*mut Scope, *const Site, *const Argument),
    _end: unsafe extern "C" fn(*mut Scope),
    _alert: unsafe extern "C" fn(*const c_char),
    _records: records::Exported,
    _status: status::Exported,
}

static EXPORTED: Exported = Exported {
    _init: trace_init,
    _init_named: trace_init_named,
    _shutdown: trace_shutdown,
    _nonce: trace_nonce,
    _unload: trace_c_unload,
    _event: trace_c_event,
    _begin: trace_c_begin,
    _end: trace_c_end,
    _alert: trace_c_alert,
    _records: records::EXPORTED,
    _status: status::EXPORTED,
};

/// Starts the provider that `choose` configures.
fn begin(choose: impl FnOnce(Builder) -> Builder) {
    contain((), || {
        let builder = trace_runtime::builder();
        let builder =
            if status::has_function() { builder.on_message(status::forward) } else { builder };
        guard::hold(Some(choose(builder).init()));
    });
}
