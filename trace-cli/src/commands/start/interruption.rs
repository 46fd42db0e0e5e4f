//! The end of `trace start` by a signal while the session starts.

use std::thread;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::ignored_signals;
use crate::message::{say, HINT};

/// Reports from now on that a signal ends this process, and not the session.
pub(super) fn report(session: &str) -> Result<()> {
    let failed = "cannot watch for signals";
    let own = ignored_signals::divide(&[SIGINT, SIGTERM, SIGHUP]).own;
    let mut signals = Signals::new(own).context(failed)?;
    let message = format!(
        "interrupted before all programs record: session {session} goes on{HINT}end it with trace \
         stop {session}"
    );
    let watch = move || {
        if let Some(signal) = signals.forever().next() {
            say(&message);
            // Ends this process.
            let _failed = emulate_default_handler(signal);
        }
    };
    let thread = thread::Builder::new().name("trace-signals".to_owned()).spawn(watch);
    thread.map(drop).context(failed)
}
