//! Scopes that are announced to a tracer of instructions (`trace insn record --in-scope`).
//!
//! A session arms a site by a condition that never holds, with the longest of all limits: the
//! scopes of the site are then watched, as for other conditions. Their begin and end call a
//! function that does nothing, at which the tracer has a breakpoint. The thread makes no system
//! call and waits for nothing: without a tracer, a call and a search by the scope's name is the
//! whole cost.

use core::hint::black_box;

/// An announced scope begins. Tracers find this function by its name.
#[cold]
#[inline(never)]
pub(super) fn scope_begins() {
    // The bodies of the two differ: functions that are equal may be merged.
    black_box("begins");
}

/// An announced scope has ended. Tracers find this function by its name.
#[cold]
#[inline(never)]
pub(super) fn scope_ends() {
    black_box("ends");
}
