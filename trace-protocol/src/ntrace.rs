//! The mark of a program in which tracing is compiled out.
//!
//! Such a program never registers. If a command has no provider, `trace record` searches its file
//! for the mark, and reports the reason.

/// The parts of the mark. They are separate so that a program that searches for the mark does not
/// contain it.
pub const PARTS: [&str; 2] = ["trace-runtime: tracing is", "compiled out by the feature ntrace"];

/// The byte between the parts: the unit separator.
pub const SEPARATOR: u8 = 0x1f;

/// Returns the mark.
pub fn mark() -> Vec<u8> {
    PARTS.map(str::as_bytes).join(&SEPARATOR)
}
