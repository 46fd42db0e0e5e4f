//! The extent and names of an archive, which some arguments require.

use std::path::Path;

use anyhow::Result;
use trace_analyze::extent::{self, Extent};

use crate::input::Spill;
use crate::message::{counted, HINT};
use crate::table::human_nanos;
use crate::times::Origin;
use crate::unreadable::explained;

/// The start of an archive, and its processes and threads.
#[derive(Debug, Default)]
pub(super) struct Scan(pub(super) Extent);

impl Scan {
    pub(super) fn read(path: &Path, input: &Spill<'_>) -> Result<Self> {
        explained(path, extent::read(input.open()?)).map(Self)
    }

    /// Returns a message about a range of time, and the number of durations and operations at its
    /// borders, or `None` if the slice has the whole trace. A range that goes beyond the trace is
    /// printed as far as the trace goes.
    pub(super) fn range(
        &self,
        (from, to): (u64, Option<u64>),
        clips: bool,
        overlapping: u64,
    ) -> Option<String> {
        let (first, last) = self.0.records?;
        if from <= first && to.is_none_or(|to| to > last) {
            return None;
        }
        let origin = Origin(self.0.start.unwrap_or(first));
        let (from, to) = (from.clamp(first, last), to.map_or(last, |to| to.clamp(first, last)));
        let range = format!("from {} to {}", origin.text(from), origin.text(to));
        let cut = "--clip cuts them, so that viewers open on this range";
        let how = if clips { "cut there".to_owned() } else { format!("kept whole{HINT}{cut}") };
        let one = "duration or operation overlaps the borders";
        let many = "durations and operations overlap the borders";
        Some(match overlapping {
            0 => format!("{range}; no {one}"),
            number => format!("{range}; {}, {how}", counted(number, one, many)),
        })
    }

    /// Returns a message that a slice is empty, with the length of the trace.
    pub(super) fn no_event(&self) -> String {
        match (self.0.start, self.0.end) {
            (Some(start), Some(end)) => {
                let length = human_nanos(end.saturating_sub(start));
                format!("the slice has no events{HINT}the trace is {length} long")
            }
            _ => "the slice has no events, and neither has the trace".to_owned(),
        }
    }
}
