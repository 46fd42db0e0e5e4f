//! Telling what is missing in an archive, or cannot be read of it.

use std::error::Error;
use std::path::Path;

use anyhow::{Context, Result};
use trace_analyze::spans::Oddities;
use trace_analyze::stats::Unpaired;
use trace_analyze::Damage;
use trace_convert::stacks::Folded;
use trace_convert::ConvertError;

use crate::{exit, input, say};

/// Tells the user what is missing in the archive at `path`; returns the exit
/// code that goes with it.
pub(crate) fn tell(path: &Path, damage: &Damage) -> u8 {
    let name = path.display();
    tell_counts(
        path,
        &[
            ("records dropped while recording", damage.records_dropped),
            ("full buffers while recording", damage.buffers_full),
            ("malformed records, left out", damage.stats.bad_records),
            ("references to strings that are not there", damage.audit.unknown_strings),
            ("references to threads that are not there", damage.audit.unknown_threads),
        ],
    );
    let omitted: Vec<Count> =
        damage.missing().omissions().map(|(what, number)| (what.event(), number)).collect();
    tell_counts(path, &omitted);
    if let Some(error) = &damage.first_bad_record {
        say(&format!("'{name}': the first malformed record: {}", chain(error)));
    }
    if let Some(error) = &damage.cut {
        say(&format!("'{name}': {}; what stands before it counts", chain(error)));
    }
    if damage.is_readable() {
        exit::OK
    } else {
        exit::INCOMPLETE
    }
}

/// What there is in an archive, and how often.
pub(crate) type Count = (&'static str, u64);

/// Tells the user what there is of `counts` in the archive at `path`.
pub(crate) fn tell_counts(path: &Path, counts: &[Count]) {
    for (what, number) in counts.iter().filter(|(_, number)| *number > 0) {
        say(&format!("'{}': {what}: {number}", path.display()));
    }
}

/// Returns what of durations does not count as it stands.
pub(crate) fn of_durations(oddities: &Oddities) -> [Count; 3] {
    [
        ("durations that have not ended, left out", oddities.begins_without_end),
        ("durations whose begin is missing, left out", oddities.ends_without_begin),
        ("durations that end before they begin, taken as 0", oddities.reversed),
    ]
}

/// Returns what of async operations does not count.
pub(crate) fn of_operations(unpaired: &Unpaired) -> [Count; 2] {
    [
        ("async operations that have not ended, left out", unpaired.begins),
        ("async operations whose begin is missing, left out", unpaired.ends),
    ]
}

/// Returns what of flows does not count.
pub(crate) fn of_flows(unpaired: &Unpaired) -> [Count; 2] {
    [
        ("flows that have not ended, left out", unpaired.begins),
        ("flows whose begin is missing, left out", unpaired.ends),
    ]
}

/// Returns what stacks have only together.
pub(crate) fn of_stacks(folded: &Folded) -> [Count; 1] {
    [("durations too deep within others, together as `…`", folded.deeper)]
}

/// Passes a result on, with an error as the user should read it.
pub(crate) fn explained<T>(path: &Path, result: Result<T, impl Into<ConvertError>>) -> Result<T> {
    result.map_err(|error| match error.into() {
        ConvertError::Read(error) => input::explain(path, error),
        // There is no output yet: it is a temporary file.
        ConvertError::Write(error) => {
            anyhow::Error::new(error).context(format!("cannot go through '{}'", path.display()))
        }
        error => error.into(),
    })
}

/// The same where something is written to `output` too.
pub(crate) fn explained_writing<T>(
    path: &Path,
    output: &Path,
    result: Result<T, ConvertError>,
) -> Result<T> {
    match result {
        Err(ConvertError::Write(error)) => {
            Err(error).with_context(|| format!("cannot write '{}'", output.display()))
        }
        result => explained(path, result),
    }
}

/// Returns an error with its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
