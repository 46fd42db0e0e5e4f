//! Pairing of sorted edges, one track after the other.

use std::collections::VecDeque;
use std::iter;

use super::{begin_of, Edge, Pattern, Track};
use crate::catalog::Catalog;

/// The result for a begin, an end, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<T> {
    /// A begin with its end.
    Pair {
        /// The begin.
        begin: Edge<T>,
        /// The end, not before it.
        end: Edge<T>,
    },
    /// A begin without an end, in a duration that has ended.
    Cut {
        /// The begin.
        begin: Edge<T>,
        /// The time of the end of the duration around it, in nanoseconds.
        over: u64,
    },
    /// A begin without an end, or an end without a begin.
    Unpaired(Edge<T>),
}

/// Returns the outcomes of edges that are sorted by track and time.
pub(super) fn of_sorted<T: Copy>(
    catalog: &Catalog,
    edges: Vec<Edge<T>>,
) -> impl Iterator<Item = Outcome<T>> + use<'_, T> {
    let mut edges = edges.into_iter().peekable();
    let mut found = VecDeque::new();
    iter::from_fn(move || {
        if found.is_empty() {
            let track = edges.peek()?.track;
            let of_track = iter::from_fn(|| edges.next_if(|edge| edge.track == track));
            pair(catalog, track, of_track, &mut found);
        }
        found.pop_front()
    })
}

/// Pairs the edges of a track, which are in the order of time.
fn pair<T: Copy>(
    catalog: &Catalog,
    track: Track,
    edges: impl Iterator<Item = Edge<T>>,
    found: &mut VecDeque<Outcome<T>>,
) {
    let is_nested = matches!(track, Track::Thread(_));
    let (mut open, mut ends): (Vec<Edge<T>>, Vec<Edge<T>>) = Default::default();
    for edge in edges {
        if !edge.is_end {
            // An end can precede a begin of another thread at the same time.
            let is_end_of = |end: &&Edge<T>| {
                end.nanos == edge.nanos && Pattern::new(catalog, end.label).matches(edge.label)
            };
            match ends.last().copied().filter(|end| is_end_of(&end)) {
                Some(end) => {
                    found.push_back(Outcome::Pair { begin: edge, end });
                    ends.pop();
                }
                None => open.push(edge),
            }
            continue;
        }
        let Some(place) = begin_of(catalog, edge.label, &open, |begin| Some(begin.label)) else {
            ends.push(edge);
            continue;
        };
        if is_nested {
            let inside = open.drain(place + 1..);
            found.extend(inside.map(|begin| Outcome::Cut { begin, over: edge.nanos }));
        }
        found.push_back(Outcome::Pair { begin: open.remove(place), end: edge });
    }
    found.extend(ends.into_iter().chain(open).map(Outcome::Unpaired));
}
