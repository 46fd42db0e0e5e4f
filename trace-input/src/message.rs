//! Messages of commands: an error with its causes, and advice below it.

use std::error::Error;

/// Separates an error from the advice that is printed below it.
pub const HINT: &str = "\nhint: ";

/// Returns an error with its causes on one line, and their hints below it.
#[must_use]
pub fn describe(error: &(dyn Error + 'static)) -> String {
    let (mut text, mut hints) = (String::new(), String::new());
    let mut cause = Some(error);
    while let Some(error) = cause {
        let message = error.to_string();
        let (what, hint) = message.split_once(HINT).unwrap_or((&message, ""));
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&plain(what));
        if !hint.is_empty() {
            hints.push_str(HINT);
            hints.push_str(hint);
        }
        cause = error.source();
    }
    text + &hints
}

/// Returns the text of an error that another process has reported, as [`describe`] returns it.
#[must_use]
pub fn describe_text(message: &str) -> String {
    plain(message)
}

/// Returns the kernel's `Permission denied (os error 13)` as `permission denied`.
fn plain(message: &str) -> String {
    let Some((text, number)) = message.split_once(" (os error ") else {
        return message.to_owned();
    };
    let rest = number.split_once(')').map_or("", |(_, rest)| rest);
    // The kernel's text starts with a capital, at the start or after a colon.
    let start = text.rfind(": ").map_or(0, |colon| colon + 2);
    let (before, kernel) = text.split_at(start);
    let mut letters = kernel.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    before.chars().chain(first).chain(letters).chain(rest.chars()).collect()
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::{anyhow, Context};

    use super::*;

    #[test]
    fn an_error_is_one_line_in_lower_case() {
        let denied = io::Error::from_raw_os_error(13);
        let error = Err::<(), _>(denied).context("cannot open a.fxt").unwrap_err();
        assert_eq!(describe(error.as_ref()), "cannot open a.fxt: permission denied");
        let within = "cannot listen: Permission denied (os error 13) (name a socket)";
        assert_eq!(plain(within), "cannot listen: permission denied (name a socket)");
        assert_eq!(plain("no number"), "no number");
    }

    #[test]
    fn hints_come_last() {
        let cause = anyhow!("no space left{HINT}set TMPDIR");
        let error = cause.context("cannot read a.fxt");
        assert_eq!(describe(error.as_ref()), "cannot read a.fxt: no space left\nhint: set TMPDIR");
    }
}
