//! Messages to the user, as the command `trace` words them.

use std::io::{self, Write};

use trace_convert::visible;
pub use trace_input::message::{describe, HINT};

/// Returns a message for a terminal: control characters are escaped, and hints have their own line.
#[must_use]
pub fn printable(message: &str) -> String {
    let parts: Vec<_> = message.split(HINT).map(visible_lines).collect();
    format!("trace-query: {}", parts.join(HINT))
}

/// Errors of SQL have several lines.
fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// Prints a message on standard error. Write errors are ignored.
pub fn say(message: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(message));
}

/// Prints a line on standard output that says what was done. Write errors are ignored: it is done.
pub(crate) fn tell(message: &str) {
    let _ = writeln!(io::stdout(), "{}", visible_lines(message));
}

/// Prints the text that the user has asked for, such as the list of queries, on standard output.
///
/// # Errors
///
/// Writing failed, also because nobody reads it.
pub(crate) fn answer(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Returns the error of a program without the cluster.
#[cfg(not(feature = "cluster"))]
pub(crate) fn no_cluster() -> anyhow::Error {
    anyhow::anyhow!(
        "this program is built without the cluster\
         {HINT}`cargo install --path trace-lake --features cluster` installs one with it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_lines_are_kept() {
        let message = format!("a\x1b[1m\nb{HINT}c");
        assert_eq!(printable(&message), "trace-query: a\\u{1b}[1m\nb\nhint: c");
    }
}
