//! The privileges and the user of the process.

/// Returns whether the program has privileges that its caller does not have: set-user-ID,
/// set-group-ID, or file capabilities (`AT_SECURE`, getauxval(3)).
pub fn is_privileged() -> bool {
    // SAFETY: getauxval takes an integer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns the real user of the process.
pub(crate) fn real_user() -> u32 {
    // SAFETY: getuid has no arguments and cannot fail.
    unsafe { libc::getuid() }
}
