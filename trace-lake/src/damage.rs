//! Reports of missing and unreadable data, in the words of the other commands.

use trace_format::notes;

use crate::archive::Archive;
use crate::exit::{INCOMPLETE, OK};
use crate::message::{describe, say};

/// Reports what is unreadable and missing in an archive that was read. Returns the exit status.
pub(crate) fn warn(archive: &Archive) -> u8 {
    let Some(damage) = archive.damage() else { return OK };
    let name = archive.input().path().display();
    damage.stats.notes().for_each(|note| say(&format!("{name}: {note}")));
    let counts = [
        ("records of unknown types, skipped", damage.stats.unknown_records),
        (notes::ENDS_EARLY, damage.ends_early()),
        ("records dropped during recording", damage.records_dropped),
        ("buffers that became full during recording", damage.buffers_full),
        ("malformed records, skipped", damage.stats.bad_records),
        ("references to unknown strings", damage.audit.unknown_strings),
        ("references to unknown threads", damage.audit.unknown_threads),
        (notes::SATURATED, damage.audit.saturated_times),
    ];
    let missing = damage.missing();
    let omitted = missing.omissions().map(|(what, number)| (what.event(), number));
    for (what, number) in counts.into_iter().chain(omitted).filter(|(_, number)| *number > 0) {
        say(&format!("{name}: {what}: {number}"));
    }
    if let Some(error) = &damage.first_bad_record {
        say(&format!("{name}: first malformed record: {}", describe(error)));
    }
    if let Some(error) = &damage.cut {
        say(&format!("{name}: {}; the records before it are used", describe(error)));
    }
    match damage.is_readable() && damage.ends_early() == 0 {
        true => OK,
        false => INCOMPLETE,
    }
}
