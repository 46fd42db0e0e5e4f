//! Trace points of other languages, compiled out.

use std::ffi::{c_char, c_void};

/// The static of a trace point. It stays off.
#[derive(Debug)]
#[repr(C)]
pub struct Site(u64);

/// The static of a module. It is ignored.
#[derive(Debug)]
#[repr(C)]
pub struct Module(u64);

/// The value of an argument. It is ignored.
#[derive(Debug)]
#[repr(C)]
pub struct Argument(u64);

/// A scope in a stack frame of another language.
#[derive(Debug)]
#[repr(C)]
pub struct Scope([u64; 4]);

/// Returns the process id.
pub fn generation() -> u32 {
    std::process::id()
}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn load(_module: *const Module) {}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn unload(_module: *const Module) {}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn event(_site: *const Site, _arguments: *const Argument, _tail: u64) {}

/// Does nothing: a new scope is not recorded.
///
/// # Safety
/// Always safe.
pub unsafe fn begin(_scope: *mut Scope, _site: *const Site, _arguments: *const Argument) {}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn end(_scope: *mut Scope) {}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn event_at(_: *const Site, _: *const Argument, _tail: u64, _ticks: u64, _track: u64) {}

/// Returns 0.
///
/// # Safety
/// Always safe.
pub unsafe fn track(_name: *const c_char, _id: u64) -> u64 {
    0
}

/// Returns 0.
pub fn ticks() -> u64 {
    0
}

/// Returns 0.
pub fn ticks_from_boottime(_nanoseconds: u64) -> u64 {
    0
}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn blob(_: *const Site, _type: u32, _bytes: *const c_void, _size: usize) {}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn blob_event(_: *const Site, _: *const Argument, _bytes: *const c_void, _size: usize) {}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn blob_attachment(_: *const Site, _bytes: *const c_void, _size: usize) {}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn userspace_object(
    _: *const Site,
    _: *const Argument,
    _pointer: *const c_void,
    _name: *const c_char,
) {
}

/// Does nothing.
///
/// # Safety
/// Always safe.
pub unsafe fn kernel_object(
    _: *const Site,
    _: *const Argument,
    _koid: u64,
    _type: u32,
    _name: *const c_char,
) {
}
