//! What is wrong with what a manager sends.

/// The problem, for a message that begins with the manager.
pub(crate) type Problem = &'static str;
