//! The durations in the running parts of a path.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use trace_format::{ReadError, Reader, ThreadKoids};

use super::Path;
use crate::catalog::LabelId;
use crate::spans::{Span, Spans};
use crate::Damage;

/// The most durations. The outer ones of a busy path may be enough to name its parts.
const MAX_DURATIONS: usize = 1 << 20;

/// The durations of a name in the running parts of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The number of durations.
    pub count: u64,
    /// The time that no inner duration takes, in nanoseconds, only that in running parts.
    pub self_nanos: u64,
}

/// The durations in the running parts of a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shares {
    /// A row for each name, the one with the most time first.
    pub rows: Vec<Share>,
    /// Whether durations are missing because there are more than a million.
    pub is_cut: bool,
    /// The durations of the archive that end before they begin. They count as 0.
    pub reversed: u64,
}

/// A part of a duration that runs for the path.
#[derive(Debug, Clone, Copy)]
struct Piece {
    thread: ThreadKoids,
    from: u64,
    to: u64,
    /// The begin and end of the whole duration.
    whole: (u64, u64),
    label: LabelId,
    /// Whether it is the first part of the duration.
    is_first: bool,
}

impl Path {
    /// Reads the durations in the running parts.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn durations<R: Read>(&self, reader: Reader<R>) -> Result<Shares, ReadError> {
        let running = self.running();
        let (mut spans, mut pieces) = (Spans::default(), Vec::new());
        let mut add = |span: Span| pieces_of(&running, &span, &mut pieces);
        Damage::of_all(reader, |item| spans.record(item).for_each(&mut add))?;
        spans.finish().for_each(&mut add);
        let is_cut = pieces.len() >= MAX_DURATIONS;
        let catalog = spans.catalog();
        let share = |(label, (count, self_nanos))| Share {
            category: catalog.category(label).to_owned(),
            name: catalog.name(label).to_owned(),
            count,
            self_nanos,
        };
        let mut rows: Vec<Share> = add_up(pieces).into_iter().map(share).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.self_nanos));
        Ok(Shares { rows, is_cut, reversed: spans.oddities().reversed })
    }

    /// Returns the running parts of each thread, in order and without overlaps.
    fn running(&self) -> HashMap<ThreadKoids, Vec<(u64, u64)>> {
        let mut running: HashMap<_, Vec<(u64, u64)>> = HashMap::new();
        for segment in self.segments.iter().filter(|segment| segment.wait.is_none()) {
            if let Some(thread) = segment.thread {
                running.entry(thread).or_default().push((segment.from, segment.to));
            }
        }
        running
    }
}

/// Appends the parts of a duration that run for the path.
fn pieces_of(
    running: &HashMap<ThreadKoids, Vec<(u64, u64)>>,
    span: &Span,
    pieces: &mut Vec<Piece>,
) {
    let Some(parts) = running.get(&span.koids) else { return };
    let whole = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
    let first = parts.partition_point(|(_, to)| *to <= whole.0);
    let parts = parts.get(first..).unwrap_or_default();
    let parts = parts.iter().take_while(|(from, _)| *from < whole.1);
    for (place, (from, to)) in parts.enumerate() {
        if pieces.len() < MAX_DURATIONS {
            let (thread, label, is_first) = (span.koids, span.label, place == 0);
            let (from, to) = (whole.0.max(*from), whole.1.min(*to));
            pieces.push(Piece { thread, from, to, whole, label, is_first });
        }
    }
}

/// Returns the number of durations and their self time, by name.
fn add_up(mut pieces: Vec<Piece>) -> BTreeMap<LabelId, (u64, u64)> {
    let order = |piece: &Piece| {
        let Piece { thread, from, to, whole, .. } = *piece;
        (thread, from, std::cmp::Reverse(to), whole.0, std::cmp::Reverse(whole.1))
    };
    pieces.sort_by_key(order);
    let mut sums: BTreeMap<LabelId, (u64, u64)> = BTreeMap::new();
    let mut around: Vec<Piece> = Vec::new();
    for piece in pieces {
        let is_outside = |outer: &Piece| outer.thread != piece.thread || outer.to <= piece.from;
        while around.last().is_some_and(is_outside) {
            around.pop();
        }
        let time = piece.to - piece.from;
        if let Some((_, outer)) = around.last().and_then(|outer| sums.get_mut(&outer.label)) {
            *outer = outer.saturating_sub(time);
        }
        let (count, own) = sums.entry(piece.label).or_default();
        *count += u64::from(piece.is_first);
        *own += time;
        around.push(piece);
    }
    sums
}
