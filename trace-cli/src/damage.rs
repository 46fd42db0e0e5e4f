//! Reports of missing and unreadable data.

use std::path::Path;

use trace_analyze::spans::Oddities;
use trace_analyze::stats::{Report, Unpaired};
use trace_analyze::Damage;
use trace_convert::stacks::Folded;
use trace_format::{notes, ReadError};

use crate::log_damage::LogDamage;
use crate::message::describe;
use crate::{exit, say};

/// Reports what is missing in the archive at `path`, and the records that no analysis can use.
/// Returns the exit code: records of unknown types are well-formed, so they do not change it.
pub(crate) fn warn(path: &Path, damage: &Damage) -> u8 {
    warn_counts(path, &[("records of unknown types, skipped", damage.stats.unknown_records)]);
    warn_of_copy(path, damage)
}

/// Reports what is missing in the archive at `path`, of which records of unknown types are kept.
/// Returns the exit code.
pub(crate) fn warn_of_copy(path: &Path, damage: &Damage) -> u8 {
    let name = path.display();
    // The archive of a log has its errors as dropped records.
    let dropped = damage.records_dropped.saturating_sub(LogDamage::number(path));
    damage.stats.notes().for_each(|note| say(&format!("{name}: {note}")));
    warn_counts(
        path,
        &[
            (notes::ENDS_EARLY, damage.ends_early()),
            ("records dropped during recording", dropped),
            ("buffers that became full during recording", damage.buffers_full),
            ("malformed records, skipped", damage.stats.bad_records),
            ("references to unknown strings", damage.audit.unknown_strings),
            ("references to unknown threads", damage.audit.unknown_threads),
            (notes::SATURATED, damage.audit.saturated_times),
        ],
    );
    let omitted: Vec<Count> =
        damage.missing().omissions().map(|(what, number)| (what.event(), number)).collect();
    warn_counts(path, &omitted);
    if let Some(error) = &damage.first_bad_record {
        say(&format!("{name}: first malformed record: {}", describe(error)));
    }
    if let Some(error) = &damage.cut {
        warn_of_cut(path, error);
    }
    let code = warn_of_log(path);
    match damage.is_readable() && damage.ends_early() == 0 {
        true => code,
        false => exit::INCOMPLETE,
    }
}

/// Reports the damage of the XRay log at `path`, if it is one. Returns the exit code.
pub(crate) fn warn_of_log(path: &Path) -> u8 {
    if let Some(message) = LogDamage::report(path) {
        say(&message);
    }
    match LogDamage::number(path) {
        0 => exit::OK,
        _ => exit::INCOMPLETE,
    }
}

/// Reports the error after which the archive at `path` could not be read.
pub(crate) fn warn_of_cut(path: &Path, error: &ReadError) {
    let name = path.display();
    say(&format!("{name}: {}; the records before it are used", describe(error)));
}

/// A kind of defect, and how often an archive has it.
pub(crate) type Count = (&'static str, u64);

/// Reports the `counts` of the archive at `path` that are not 0.
pub(crate) fn warn_counts(path: &Path, counts: &[Count]) {
    for (what, number) in counts.iter().filter(|(_, number)| *number > 0) {
        say(&format!("{}: {what}: {number}", path.display()));
    }
}

/// Returns the durations that are not used as recorded.
pub(crate) fn of_durations(oddities: &Oddities) -> [Count; 3] {
    [
        ("durations without an end, skipped", oddities.begins_without_end),
        ("durations without a begin, skipped", oddities.ends_without_begin),
        of_reversed(oddities.reversed),
    ]
}

/// Returns the durations whose self time may be wrong.
pub(crate) fn misplaced(oddities: &Oddities) -> Count {
    ("durations far out of order, SELF may be wrong", oddities.misplaced)
}

/// Returns the durations without a length.
pub(crate) fn of_reversed(reversed: u64) -> Count {
    ("durations that end before they begin, counted as 0", reversed)
}

/// Returns the names without a row, which have the least total time.
pub(crate) fn of_names(report: &Report) -> Count {
    ("names without a row, too many", report.joined.len())
}

/// Returns the durations of which a part was not scheduled while that was recorded.
pub(crate) fn of_schedule(report: &Report) -> Count {
    let text = "durations not within the scheduling records, their ON-CPU is unknown or estimated";
    (text, report.partly_scheduled)
}

/// Returns the durations whose argument is unknown.
pub(crate) fn of_values(report: &Report) -> Count {
    let text = "durations without their value, too many operations or durations";
    (text, report.values_left_out)
}

/// Returns the async operations that are not used.
pub(crate) fn of_operations(unpaired: &Unpaired) -> [Count; 2] {
    [
        ("async operations without an end, skipped", unpaired.begins),
        ("async operations without a begin, skipped", unpaired.ends),
    ]
}

/// Returns the flows that are not used.
pub(crate) fn of_flows(unpaired: &Unpaired) -> [Count; 2] {
    [
        ("flows without an end, skipped", unpaired.begins),
        ("flows without a begin, skipped", unpaired.ends),
    ]
}

/// Returns the durations that stacks do not separate.
pub(crate) fn of_stacks(folded: &Folded) -> [Count; 1] {
    [("durations nested too deep, merged as `…`", folded.deeper)]
}
