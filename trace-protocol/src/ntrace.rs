//! The mark of a program whose trace points are compiled away.
//!
//! Such a program never registers. `trace record` looks for the mark in the file of a command that
//! has no provider, and reports the reason.

/// The parts of the mark. A program that searches for it has the parts, and not the separator
/// between them.
pub const PARTS: [&str; 2] = ["trace-runtime: tracing is", "compiled out by the feature ntrace"];

/// The byte between the parts: the unit separator.
pub const SEPARATOR: u8 = 0x1f;

/// Returns the mark.
pub fn mark() -> Vec<u8> {
    PARTS.map(str::as_bytes).join(&SEPARATOR)
}
