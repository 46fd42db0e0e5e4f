//! The memory of queries.

/// The memory of sorts, joins and groups in bytes by default. Beyond it they use temporary files,
/// or the query fails. With what else it has, the program stays below 1 GB.
pub const DEFAULT_MEMORY: usize = 768 << 20;
