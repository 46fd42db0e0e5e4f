//! Pairs of begins and ends.
//!
//! An end belongs to the innermost open begin of its category and name on its [`Track`]. Some
//! formats have ends without a category or a name: an empty one matches any.
//!
//! Several threads can write the events of a track, and the archive has the records of threads in
//! any order. An end can come before its begin, and if an id is used again, its second end can come
//! before its first. So a [`Pairing`] collects begins and ends and pairs them in the order of time.
//! If there are too many, it pairs the older half.
//!
//! [`spans`](crate::spans), which also nests complete events and computes self times, uses the same
//! [`begin_of`].

mod open;
mod outcomes;

use trace_format::{Event, EventKind, Item, ThreadKoids};

use crate::catalog::{Catalog, LabelId};
pub use open::OpenBegins;
pub use outcomes::Outcome;

/// The most open begins that are searched for the begin of an end. Without a limit, each end
/// without a begin would search all of them.
pub const MAX_SEARCH: usize = 1 << 10;

/// Returns the place of an end's begin in `open`, which has the outermost one first. `label`
/// returns the label of a begin, and `None` for other elements.
#[inline]
pub fn begin_of<T>(
    catalog: &Catalog,
    end: LabelId,
    open: &[T],
    label: impl Fn(&T) -> Option<LabelId>,
) -> Option<usize> {
    let pattern = Pattern::new(catalog, end);
    innermost(open, |open| label(open).is_some_and(|begin| pattern.matches(begin)))
}

/// Returns the place of the innermost match.
#[inline]
fn innermost<T>(open: &[T], matches: impl Fn(&T) -> bool) -> Option<usize> {
    let inside = open.iter().rev().take(MAX_SEARCH).position(matches)?;
    Some(open.len() - 1 - inside)
}

/// The begins that an end matches.
#[derive(Debug)]
struct Pattern<'a> {
    catalog: &'a Catalog,
    end: LabelId,
    any_category: bool,
    any_name: bool,
}

impl<'a> Pattern<'a> {
    #[inline]
    fn new(catalog: &'a Catalog, end: LabelId) -> Self {
        let any_category = catalog.category(end).is_empty();
        let any_name = catalog.name(end).is_empty();
        Self { catalog, end, any_category, any_name }
    }

    /// Returns whether the end may belong to a begin with this label.
    #[inline]
    fn matches(&self, begin: LabelId) -> bool {
        begin == self.end || ((self.any_category || self.any_name) && self.matches_in_part(begin))
    }

    fn matches_in_part(&self, begin: LabelId) -> bool {
        let Self { catalog, end, any_category, any_name } = *self;
        (any_category || catalog.category(end) == catalog.category(begin))
            && (any_name || catalog.name(end) == catalog.name(begin))
    }
}

/// A set of begins and ends that can be paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Track {
    /// Durations of a thread, which are nested.
    Thread(ThreadKoids),
    /// Async operations of a process with this id.
    Operation {
        /// The process.
        process: u64,
        /// The id.
        id: u64,
    },
    /// Flows with this id.
    Flow {
        /// The id.
        id: u64,
    },
}

impl Track {
    /// Returns the id of an operation or a flow.
    #[must_use]
    pub fn id(self) -> Option<u64> {
        match self {
            Self::Thread(_) => None,
            Self::Operation { id, .. } | Self::Flow { id } => Some(id),
        }
    }
}

/// A begin or an end, with a value of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<T> {
    /// Its track.
    pub track: Track,
    /// Its time, in nanoseconds.
    pub nanos: u64,
    /// Its category and name.
    pub label: LabelId,
    /// Whether it is an end.
    pub is_end: bool,
    /// The caller's value.
    pub value: T,
    number: u32,
}

impl<T> Edge<T> {
    /// Returns its number among the edges of a [`Pairing`].
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the edge of an event, or `None` if the event is neither a begin nor an end.
    pub fn of(catalog: &mut Catalog, item: &Item<'_>, event: &Event<'_>, value: T) -> Option<Self> {
        let koids = || item.thread(event.thread);
        let operation = |id| Track::Operation { process: koids().process, id };
        let (track, is_end) = match event.kind {
            EventKind::DurationBegin => (Track::Thread(koids()), false),
            EventKind::DurationEnd => (Track::Thread(koids()), true),
            EventKind::AsyncBegin { id } => (operation(id), false),
            EventKind::AsyncEnd { id } => (operation(id), true),
            EventKind::FlowBegin { id } => (Track::Flow { id }, false),
            EventKind::FlowEnd { id } => (Track::Flow { id }, true),
            _ => return None,
        };
        let label = catalog.label(item, event.category, event.name);
        Some(Self { track, nanos: item.nanos(event.ticks), label, is_end, value, number: 0 })
    }
}

/// Begins without an end, and ends without a begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unpaired {
    /// Begins without an end.
    pub begins: u64,
    /// Ends without a begin.
    pub ends: u64,
}

impl Unpaired {
    /// Counts an edge.
    pub fn count<T>(&mut self, edge: &Edge<T>) {
        match edge.is_end {
            true => self.ends += 1,
            false => self.begins += 1,
        }
    }
}

/// Pairs begins and ends.
#[derive(Debug)]
pub struct Pairing<T> {
    waiting: Vec<Edge<T>>,
    max_waiting: usize,
    next: u32,
    found: Vec<Outcome<T>>,
}

impl<T: Copy> Pairing<T> {
    /// Creates a pairing that holds at most `max_waiting` edges, and a quarter as many unpaired
    /// ones.
    #[must_use]
    pub fn new(max_waiting: usize) -> Self {
        Self { waiting: Vec::new(), max_waiting, next: 0, found: Vec::new() }
    }

    /// Returns the number of the next edge of the archive.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// Adds the next edge of the archive, and returns the outcomes that are certain. An edge that
    /// is given up, because too many wait, is [`Outcome::Unpaired`].
    #[inline]
    pub fn push(&mut self, catalog: &Catalog, edge: Edge<T>) -> std::vec::Drain<'_, Outcome<T>> {
        self.waiting.push(Edge { number: self.next, ..edge });
        self.next = self.next.wrapping_add(1);
        if self.waiting.len() >= self.max_waiting {
            self.pair_older(catalog);
        }
        self.found.drain(..)
    }

    /// Returns the remaining outcomes, at the end of the archive.
    pub fn finish(mut self, catalog: &Catalog) -> impl Iterator<Item = Outcome<T>> + use<'_, T> {
        sort(&mut self.waiting);
        outcomes::of_sorted(catalog, self.waiting)
    }

    /// Pairs the older half. The newest unpaired edges stay, because their other end may come.
    #[cold]
    fn pair_older(&mut self, catalog: &Catalog) {
        let newer = split_off_newer(&mut self.waiting, self.max_waiting / 2);
        sort(&mut self.waiting);
        let mut unpaired = Vec::new();
        for outcome in outcomes::of_sorted(catalog, std::mem::take(&mut self.waiting)) {
            match outcome {
                Outcome::Unpaired(edge) => unpaired.push(edge),
                outcome => self.found.push(outcome),
            }
        }
        self.waiting = split_off_newer(&mut unpaired, self.max_waiting / 4);
        self.found.extend(unpaired.into_iter().map(Outcome::Unpaired));
        self.waiting.extend(newer);
    }
}

/// Sorts by track and time. Edges of one time stay in the order of the archive.
fn sort<T>(edges: &mut [Edge<T>]) {
    edges.sort_unstable_by_key(|edge| (edge.track, edge.nanos, edge.number));
}

/// Splits off the `count` newest edges.
fn split_off_newer<T>(edges: &mut Vec<Edge<T>>, count: usize) -> Vec<Edge<T>> {
    let older = edges.len().saturating_sub(count);
    if older < edges.len() {
        edges.select_nth_unstable_by_key(older, |edge| (edge.nanos, edge.number));
    }
    edges.split_off(older)
}

#[cfg(test)]
mod tests;
