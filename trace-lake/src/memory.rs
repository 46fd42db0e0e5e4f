//! The memory of queries.

/// The memory of sorts, joins and groups in bytes by default. Beyond it they use temporary files,
/// or the query fails.
pub const DEFAULT_MEMORY: usize = 768 << 20;

/// Reads a number of MiB of the command line. The engine's parts have a minimum: with a few MiB,
/// most queries fail.
pub(crate) fn mebibytes(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "it is a whole number of MiB, 1 or more".to_owned())
}
