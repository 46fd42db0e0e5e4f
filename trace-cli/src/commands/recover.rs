//! `trace recover`

use anyhow::{Context, Result};
use trace_manager::recover;

use crate::cli::RecoverArgs;
use crate::exit;
use crate::message::HINT;

pub(crate) fn run(args: &RecoverArgs) -> Result<u8> {
    let recovered = recover(&args.file).with_context(|| {
        format!(
            "cannot recover {}{HINT}name the file that TRACE_OUTPUT named for a program that was killed",
            args.file.display()
        )
    })?;
    let (archive, bytes, events) = (recovered.archive.display(), recovered.bytes, recovered.events);
    crate::say(&format!("{archive}: {bytes} bytes, {events} events recovered from the buffer"));
    for (count, what) in [
        (recovered.open_scopes, "durations without an end"),
        (recovered.dropped, "records dropped because the buffer was full"),
        (recovered.refused, "malformed records, skipped"),
        (recovered.damaged, "damaged or missing bytes of the partial archive, skipped"),
    ] {
        if count > 0 {
            crate::say(&format!("{count} {what}"));
        }
    }
    Ok(if recovered.is_complete() { exit::OK } else { exit::INCOMPLETE })
}
