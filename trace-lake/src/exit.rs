//! The exit status.

/// Success.
pub(crate) const OK: u8 = 0;

/// The command failed.
pub(crate) const FAILURE: u8 = 1;

/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;

/// The command succeeded on incomplete data.
pub(crate) const INCOMPLETE: u8 = 3;
