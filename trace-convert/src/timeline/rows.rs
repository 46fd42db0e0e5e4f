//! Rows, and the shapes in them.

use trace_analyze::catalog::LabelId;

/// The rows of a process, or of the CPUs.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) rows: Vec<Row>,
}

/// The type of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RowKind {
    #[default]
    Thread = 0,
    Operation = 1,
    Counter = 2,
    Cpu = 3,
}

#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) kind: RowKind,
    pub(super) name: String,
    pub(super) lanes: Vec<Lane>,
    /// The identities of the slices in each lane, only for operations.
    pub(super) identities: Vec<Vec<Identity>>,
    pub(super) points: Vec<Point>,
    pub(super) losses: Vec<Loss>,
    pub(super) series: Vec<Series>,
}

/// Slices that do not overlap, ordered by time.
pub(super) type Lane = Vec<Slice>;

/// A duration. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) label: LabelId,
    /// The place of the arguments, 0 for none.
    pub(super) arguments: u32,
    /// Of two durations with the same times, the one with the lower order is around the other one.
    pub(super) order: u32,
    /// The end is missing in the archive: `end` is the latest possible one.
    pub(super) is_open: bool,
}

/// What relates an async operation to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) id: u64,
    /// The number of lanes between the operation and its parent, or 0 without a parent. The parent
    /// is the last slice of that lane that does not begin later.
    pub(super) above: u32,
    /// Whether the number of ancestors is odd.
    pub(super) is_odd: bool,
}

/// The type of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointKind {
    Thread = 0,
    Process = 1,
    Global = 2,
    Log = 3,
    Operation = 4,
    Blob = 5,
    Wakeup = 6,
}

/// An event without a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) at: u64,
    pub(super) label: LabelId,
    pub(super) arguments: u32,
    pub(super) kind: PointKind,
}

/// Dropped records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) number: u64,
    /// The number of a string.
    pub(super) reason: u32,
}

/// The values of a counter.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Series {
    /// The number of a string.
    pub(super) name: u32,
    pub(super) samples: Vec<(u64, f64)>,
}

/// Arranges nested slices in lanes: a slice that begins while others are open is below them.
pub(super) fn nested(mut slices: Vec<Slice>) -> Vec<Lane> {
    slices.sort_by_key(|slice| (slice.begin, std::cmp::Reverse(slice.end), slice.order));
    let mut lanes: Vec<Lane> = Vec::new();
    let mut open: Vec<u64> = Vec::new();
    for slice in slices {
        while open.last().is_some_and(|end| *end <= slice.begin) {
            open.pop();
        }
        match lanes.get_mut(open.len()) {
            Some(lane) => lane.push(slice),
            None => lanes.push(vec![slice]),
        }
        open.push(slice.end);
    }
    lanes
}

/// Returns the slice of a lane at a time.
pub(super) fn slice_at(lane: &Lane, at: u64) -> Option<&Slice> {
    let place = lane.partition_point(|slice| slice.begin <= at);
    place.checked_sub(1).and_then(|place| lane.get(place)).filter(|slice| slice.end >= at)
}
