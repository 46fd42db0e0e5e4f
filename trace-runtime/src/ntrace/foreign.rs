//! Trace points that other languages lay out, of which nothing is recorded.

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
