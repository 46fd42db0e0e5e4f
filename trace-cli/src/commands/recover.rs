//! `trace recover`

use anyhow::{Context, Result};
use trace_manager::recover;

use crate::cli::RecoverArgs;
use crate::exit;

pub(crate) fn run(args: &RecoverArgs) -> Result<u8> {
    let recovered = recover(&args.file).with_context(|| {
        format!(
            "cannot recover '{}': expected what a program leaves that traced itself into it (TRACE_OUTPUT) and was killed",
            args.file.display()
        )
    })?;
    let (archive, bytes, events) = (recovered.archive.display(), recovered.bytes, recovered.events);
    crate::say(&format!(
        "{archive}: {bytes} bytes; {events} of its events were in the buffer only"
    ));
    for (count, what) in [
        (recovered.open_scopes, "scopes were open"),
        (recovered.dropped, "records had been dropped for want of room"),
        (recovered.refused, "records in the buffer are not well-formed and left out"),
        (recovered.damaged, "bytes of the partial archive are missing or damaged and left out"),
    ] {
        if count > 0 {
            crate::say(&format!("{count} {what}"));
        }
    }
    Ok(if recovered.is_whole() { exit::OK } else { exit::INCOMPLETE })
}
