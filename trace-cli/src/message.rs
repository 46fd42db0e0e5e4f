//! Messages to the user, on standard error.

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use trace_convert::visible;
pub(crate) use trace_input::message::{describe, describe_text, HINT};

/// The begin of each message.
pub(crate) const PREFIX: &str = "trace: ";

/// Prints a message as by [`line()`]. Write errors are ignored.
pub(crate) fn say(message: &str) {
    let _ = io::stderr().write_all(line(message).as_bytes());
}

/// Prints a message after this time, unless the result is dropped before.
pub(crate) fn say_after(time: Duration, message: String) -> Sender<()> {
    let (done, waits) = mpsc::channel();
    let wait = move || {
        if waits.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            say(&message);
        }
    };
    // Without a thread, nothing is printed.
    let _started = thread::Builder::new().name("trace-waits".to_owned()).spawn(wait);
    done
}

/// Returns a message with each hint on a line of its own. Control characters are escaped; names of
/// programs must be escaped before, since they could contain a hint.
pub(crate) fn line(message: &str) -> String {
    let parts: Vec<_> = message.split(HINT).map(visible).collect();
    format!("{PREFIX}{}\n", parts.join(HINT))
}

/// Returns the singular or plural of a noun.
pub(crate) fn plural<'a>(number: u64, one: &'a str, many: &'a str) -> &'a str {
    if number == 1 {
        one
    } else {
        many
    }
}

/// Returns a number with the singular or plural of a noun.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", plural(number, one, many))
}
