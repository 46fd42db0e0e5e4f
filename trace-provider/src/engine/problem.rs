//! Violations of the protocol by a manager.

/// The violation, for a message whose subject is the manager.
pub(crate) type Problem = &'static str;
