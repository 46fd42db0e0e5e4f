//! A frame of a stack.

use std::sync::Arc;

/// A function that is executed, or one that is inlined there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The demangled name.
    pub function: Arc<str>,
    /// The source file.
    pub file: Option<Arc<str>>,
    /// The line in it, from 1 on.
    pub line: Option<u32>,
    /// The column in the line, from 1 on.
    pub column: Option<u32>,
}
