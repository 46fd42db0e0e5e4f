//! Where an archive belongs in a store: its day, host, service and version, and its time since
//! 1970.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::{bail, Context, Result};
use trace_protocol::file::utc;

use super::cli::AddArgs;
use super::program;
use crate::directory::{Clock, Directory};
use crate::store::state::{ClockSource, Partition};

/// Where an archive belongs.
#[derive(Debug)]
pub(super) struct Labels {
    pub(super) partition: Partition,
    pub(super) version: Option<String>,
    pub(super) clock: ClockSource,
    /// The nanoseconds from the archive's clock to the time since 1970. There is one of all
    /// records, so that differences within an archive stay.
    pub(super) shift_ns: i64,
    /// The times of the first and the last record since 1970 in nanoseconds.
    pub(super) extent: Option<(i64, i64)>,
}

impl Labels {
    /// Returns the labels that the options give, else those of the archive. `changed_ns` is the
    /// time of the file's last change.
    pub(super) fn new(args: &AddArgs, directory: &Directory, changed_ns: i64) -> Result<Self> {
        let (clock, shift_ns) = clock(args.time, directory, changed_ns)
            .context("its times are more than 292 years from 1970")?;
        let shifted = |(first, last): (i64, i64)| {
            Some((first.checked_add(shift_ns)?, last.checked_add(shift_ns)?))
        };
        let extent = match directory.extent {
            Some(extent) => Some(shifted(extent).context("its last time is after the year 2262")?),
            None => None,
        };
        let start = extent.map_or(changed_ns, |(first, _)| first);
        if start < 0 {
            bail!("its first record is before 1970");
        }
        let service = args.service.clone().unwrap_or_else(|| program::service(directory));
        let build_id = || program::build_id(directory, &service);
        let version = args.version.clone().or_else(build_id).filter(|it| !it.is_empty());
        let partition = Partition { day: day(start), host: args.host.clone(), service };
        Ok(Self { partition, version, clock, shift_ns, extent })
    }
}

/// Returns the nanoseconds to add to times, and where they come from.
fn clock(
    option: Option<i64>,
    directory: &Directory,
    changed_ns: i64,
) -> Option<(ClockSource, i64)> {
    let Some((first, last)) = directory.extent else { return Some((ClockSource::File, 0)) };
    if let Some(time) = option {
        return Some((ClockSource::Option, time.checked_sub(first)?));
    }
    if let Some(time) = directory.clocks.convert(first, Clock::Realtime) {
        return Some((ClockSource::Archive, time.checked_sub(first)?));
    }
    Some((ClockSource::File, changed_ns.checked_sub(last)?))
}

/// Returns the day of a time since 1970, in UTC.
fn day(nanos: i64) -> String {
    let since = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
    let text = utc(UNIX_EPOCH + since);
    format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_in_utc() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(1_795_910_399_999_999_999), "2026-11-28");
        assert_eq!(day(1_795_910_400_000_000_000), "2026-11-29");
    }
}
