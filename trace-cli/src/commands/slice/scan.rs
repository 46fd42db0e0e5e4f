//! What has to be known of an archive before it is cut.

use std::path::Path;

use anyhow::Result;
use trace_analyze::extent::{self, Extent};

use crate::damage::explained;
use crate::input::Spill;
use crate::table::human_nanos;

/// When an archive starts, and the names in it.
#[derive(Debug, Default)]
pub(super) struct Scan(Extent);

impl Scan {
    pub(super) fn read(path: &Path, input: &Spill<'_>) -> Result<Self> {
        explained(path, extent::read(input.open()?)).map(Self)
    }

    /// Returns the time of the first event.
    pub(super) fn start(&self) -> u64 {
        self.0.start.unwrap_or(0)
    }

    /// Says that no event is in a slice, and what there was to choose from.
    pub(super) fn no_event(&self) -> String {
        match (self.0.start, self.0.end) {
            (Some(start), Some(end)) => {
                let length = human_nanos(end.saturating_sub(start));
                format!("no event is left; the trace is {length} long")
            }
            _ => "no event is left; the trace has none".to_owned(),
        }
    }

    /// Returns the koids of the processes of this name.
    pub(super) fn processes(&self, name: &str) -> Vec<u64> {
        koids(&self.0.processes, name)
    }

    /// Returns the koids of the threads of this name.
    pub(super) fn threads(&self, name: &str) -> Vec<u64> {
        koids(&self.0.threads, name)
    }
}

fn koids(list: &[(u64, String)], name: &str) -> Vec<u64> {
    list.iter().filter(|(_, of)| of == name).map(|(koid, _)| *koid).collect()
}
