//! `trace recover`

use std::path::Path;

use anyhow::{Context, Result};
use trace_manager::recover;

use crate::cli::RecoverArgs;
use crate::message::{counted, describe, HINT};
use crate::{exit, logs};

pub(crate) fn run(args: &RecoverArgs) -> Result<u8> {
    if args.file.is_dir() {
        return recover_logs(&args.file);
    }
    let recovered = recover(&args.file).with_context(|| {
        format!(
            "cannot recover {}{HINT}name the file that TRACE_OUTPUT named for a program that was killed",
            args.file.display()
        )
    })?;
    let (archive, bytes) = (recovered.archive.display(), recovered.bytes);
    let events = counted(recovered.events, "event", "events");
    crate::say(&match bytes {
        0 => format!("nothing was recorded, {archive} is unchanged"),
        _ => format!("{archive}: {bytes} bytes, {events} recovered from the buffer"),
    });
    for (count, one, many, what) in [
        (recovered.open_scopes, "duration", "durations", "without an end"),
        (recovered.dropped, "record", "records", "dropped because the buffer was full"),
        (recovered.refused, "malformed record", "malformed records", "skipped"),
        (recovered.damaged, "byte", "bytes", "of the partial archive damaged or missing, skipped"),
    ] {
        if count > 0 {
            crate::say(&format!("{} {what}", counted(count, one, many)));
        }
    }
    for kept in &recovered.kept {
        crate::say(&format!("a file of the process is kept as {}", kept.display()));
    }
    if recovered.is_buffer_lost {
        crate::say("the records of the buffer are lost, because it was memory");
    }
    Ok(if recovered.is_complete() { exit::OK } else { exit::INCOMPLETE })
}

fn recover_logs(directory: &Path) -> Result<u8> {
    let mut code = exit::OK;
    for logs in logs::recover(directory)? {
        let logs = match logs {
            Ok(logs) => logs,
            Err(error) => {
                crate::say(&describe(error.as_ref()));
                code = exit::FAILURE;
                continue;
            }
        };
        for path in &logs.paths {
            crate::say(&format!("{} is recovered", path.display()));
        }
        let incomplete = logs.warn(directory);
        if code == exit::OK {
            code = incomplete;
        }
    }
    Ok(code)
}
