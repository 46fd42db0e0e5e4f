//! The extent and names of an archive, which some arguments require.

use std::path::Path;

use anyhow::Result;
use trace_analyze::extent::{self, Extent};

use crate::damage::explained;
use crate::input::Spill;
use crate::message::HINT;
use crate::table::human_nanos;

/// The start of an archive, and its processes and threads.
#[derive(Debug, Default)]
pub(super) struct Scan(pub(super) Extent);

impl Scan {
    pub(super) fn read(path: &Path, input: &Spill<'_>) -> Result<Self> {
        explained(path, extent::read(input.open()?)).map(Self)
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
