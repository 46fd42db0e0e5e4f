//! The memory of queries.

/// The memory of sorts, joins and groups in bytes by default. Beyond it they use temporary files,
/// or the query fails.
pub const DEFAULT_MEMORY: usize = 768 << 20;
