//! Arrows between durations.

use std::collections::{BTreeMap, HashMap};

use trace_format::ThreadKoids;

use super::rows::{slice_at, Row};
use trace_analyze::catalog::LabelId;

/// The maximum number of lanes that are searched for each stop.
const MAX_LANES: usize = 1 << 10;

/// A place on the way of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    pub(super) at: u64,
    pub(super) thread: ThreadKoids,
    pub(super) is_begin: bool,
}

/// An end of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tip {
    /// The row, numbered across all groups.
    pub(super) row: u32,
    /// The lane of the innermost duration at `at`.
    pub(super) lane: u32,
    pub(super) at: u64,
}

/// An arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrow {
    pub(super) from: Tip,
    pub(super) to: Tip,
    pub(super) label: LabelId,
    pub(super) id: u64,
}

/// All flows, by label and id.
#[derive(Debug, Default)]
pub(super) struct Flows(BTreeMap<(LabelId, u64), Vec<Stop>>);

impl Flows {
    pub(super) fn stop(&mut self, label: LabelId, id: u64, stop: Stop) {
        self.0.entry((label, id)).or_default().push(stop);
    }

    /// Returns the arrows from each stop to the next one, ordered by time.
    pub(super) fn arrows(self, places: &HashMap<ThreadKoids, u32>, rows: &[&Row]) -> Vec<Arrow> {
        let tip = |stop: &Stop| {
            let row = *places.get(&stop.thread)?;
            Some(Tip { row, lane: lane_at(rows.get(row as usize)?, stop.at), at: stop.at })
        };
        let mut arrows = Vec::new();
        for ((label, id), mut stops) in self.0 {
            stops.sort_by_key(|stop| stop.at);
            let mut last = None;
            for stop in &stops {
                let to = tip(stop);
                if let (Some(from), Some(to), false) = (last, to, stop.is_begin) {
                    arrows.push(Arrow { from, to, label, id });
                }
                last = to;
            }
        }
        arrows.sort_by_key(|arrow| arrow.from.at);
        arrows
    }
}

/// Returns the lane of the innermost duration at a time.
fn lane_at(row: &Row, at: u64) -> u32 {
    let lanes = row.lanes.get(..MAX_LANES).unwrap_or(&row.lanes);
    let lane = lanes.iter().rposition(|lane| slice_at(lane, at).is_some());
    lane.unwrap_or(0) as u32
}
