//! Trace points that other languages lay out, of which nothing is recorded.

use std::ffi::{c_char, c_void};

/// The static of a trace point, which stays off.
#[derive(Debug)]
#[repr(C)]
pub struct Site(u64);

/// The static of a module, which nobody looks at.
#[derive(Debug)]
#[repr(C)]
pub struct Module(u64);

/// The value of an argument, which nobody looks at.
#[derive(Debug)]
#[repr(C)]
pub struct Argument(u64);

/// A scope as it lies in a frame of another language.
#[derive(Debug)]
#[repr(C)]
pub struct Scope([u64; 4]);

/// Takes nothing.
///
/// # Safety
/// Always.
pub unsafe fn load(_module: *const Module) {}

/// Forgets nothing.
///
/// # Safety
/// Always.
pub unsafe fn unload(_module: *const Module) {}

/// Writes nothing.
///
/// # Safety
/// Always.
pub unsafe fn event(_site: *const Site, _arguments: *const Argument, _tail: u64) {}

/// Begins nothing: a scope is not recorded before it is begun.
///
/// # Safety
/// Always.
pub unsafe fn begin(_scope: *mut Scope, _site: *const Site, _arguments: *const Argument) {}

/// Ends nothing.
///
/// # Safety
/// Always.
pub unsafe fn end(_scope: *mut Scope) {}

/// Writes nothing.
///
/// # Safety
/// Always.
pub unsafe fn event_at(_: *const Site, _: *const Argument, _tail: u64, _ticks: u64, _track: u64) {}

/// Is 0.
///
/// # Safety
/// Always.
pub unsafe fn track(_name: *const c_char, _id: u64) -> u64 {
    0
}

/// Is 0.
pub fn ticks() -> u64 {
    0
}

/// Is 0.
pub fn ticks_from_boottime(_nanoseconds: u64) -> u64 {
    0
}

/// Writes nothing.
///
/// # Safety
/// Always.
pub unsafe fn blob(_: *const Site, _type: u32, _bytes: *const c_void, _size: usize) {}

/// Writes nothing.
///
/// # Safety
/// Always.
pub unsafe fn blob_event(_: *const Site, _: *const Argument, _bytes: *const c_void, _size: usize) {}

/// Writes nothing.
///
/// # Safety
/// Always.
pub unsafe fn blob_attachment(_: *const Site, _bytes: *const c_void, _size: usize) {}

/// Writes nothing.
///
/// # Safety
/// Always.
pub unsafe fn userspace_object(
    _: *const Site,
    _: *const Argument,
    _pointer: *const c_void,
    _name: *const c_char,
) {
}

/// Writes nothing.
///
/// # Safety
/// Always.
pub unsafe fn kernel_object(
    _: *const Site,
    _: *const Argument,
    _koid: u64,
    _type: u32,
    _name: *const c_char,
) {
}
