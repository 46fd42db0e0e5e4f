//! Whose program this is.

/// Whether the program runs with privileges that its caller does not have: set-user-ID,
/// set-group-ID, or file capabilities (`AT_SECURE`, getauxval(3)).
pub(crate) fn is_privileged() -> bool {
    // SAFETY: getauxval takes an integer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The real user of the process.
pub(crate) fn real_user() -> u32 {
    // SAFETY: getuid takes nothing and cannot fail.
    unsafe { libc::getuid() }
}
