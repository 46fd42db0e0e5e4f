//! `trace recover`

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail, Result};
use trace_analyze::input::{Fxt, InputFormat};
use trace_manager::recover;
use trace_protocol::buffer::saved::buffer_path;
use trace_xray::fxt::Options;

use crate::cli::RecoverArgs;
use crate::message::{counted, describe, HINT};
use crate::{exit, live, logs, losses};

pub(crate) fn run(args: &RecoverArgs) -> Result<u8> {
    if let Some(directory) = logs::directory_of(&args.file) {
        let min_duration = args.min_duration.unwrap_or_default();
        let options = Options { min_duration, version: args.log_version.unwrap_or_default() };
        return recover_logs(directory, &options);
    }
    if args.min_duration.is_some() || args.log_version.is_some() {
        bail!("--min-duration and --log-version require a directory of XRay logs");
    }
    let recovered = recover(&args.file).map_err(|error| match archive_alone(&args.file) {
        Some(archive) => anyhow!(no_buffer(&archive)),
        None => anyhow!(error).context(format!(
            "cannot recover {}{HINT}name the file that TRACE_OUTPUT named for a program that was killed",
            args.file.display()
        )),
    })?;
    let (archive, bytes) = (recovered.archive.display(), recovered.bytes);
    let events = counted(recovered.events, "event", "events");
    crate::say(&match bytes {
        0 => format!("nothing was recorded, {archive} is unchanged"),
        _ => format!("{archive}: {bytes} bytes, {events} recovered from the buffer"),
    });
    for (cause, number) in losses::by_cause(recovered.dropped, &recovered.dropped_by_reason) {
        let (records, why) = (counted(number, "record", "records"), cause.text("the buffer"));
        crate::say(&format!("{records} dropped{why}"));
    }
    for (count, one, many, what) in [
        (recovered.open_scopes, "duration", "durations", "without an end"),
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

/// Returns the archive without the buffer of a program that has this path, or would have had it: a
/// recorder was killed, and so was its guard.
fn archive_alone(path: &Path) -> Option<PathBuf> {
    if buffer_path(path).exists() {
        return None;
    }
    let mut paths = [path.to_owned(), live::partial_path(path)].into_iter();
    paths.find(|path| is_archive(path))
}

fn is_archive(path: &Path) -> bool {
    let mut start = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && Fxt.detects(&start)
}

fn no_buffer(path: &Path) -> String {
    let path = path.display();
    format!(
        "cannot recover {path}: it is an archive, and no program left a buffer\
         {HINT}all commands read it; trace slice {path} -o NEW keeps its readable part, if it is \
         damaged or not complete"
    )
}

fn recover_logs(directory: &Path, options: &Options) -> Result<u8> {
    let mut code = exit::OK;
    for logs in logs::recover(directory, options)? {
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
