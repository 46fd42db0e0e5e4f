//! Durations and async operations without an end.

use trace_format::layout::cut_str;
use trace_format::{EventKind, Item, Record, ThreadKoids};

use super::OpenScope;
use crate::catalog::{Catalog, LabelId};
use crate::pairing::{Edge, Outcome, Pairing, Track, Unpaired};

/// The most begins and ends that wait for each other. Further ones are counted.
const MAX_WAITING: usize = 1 << 17;

/// The most bytes of a name. A small record can refer to a long name.
const MAX_NAME_BYTES: usize = 256;

/// The most open scopes in a report.
const MAX_REPORTED: usize = 1000;

/// Finds durations and async operations without an end.
#[derive(Debug)]
pub(super) struct Scopes {
    catalog: Catalog,
    pairing: Pairing<ThreadKoids>,
    lost: Lost,
}

/// The durations without an end, and the number of begins and ends that are unpaired.
#[derive(Debug)]
pub(super) struct OpenScopes {
    /// The first by time.
    pub(super) open_scopes: Vec<OpenScope>,
    pub(super) durations: Unpaired,
    pub(super) operations: Unpaired,
    pub(super) catalog: Catalog,
}

/// Begins without an end, and ends without a begin.
#[derive(Debug, Default)]
struct Lost {
    /// The first begins of durations by time, after [`Lost::keep_first`].
    begins: Vec<(u64, ThreadKoids, LabelId)>,
    durations: Count,
    operations: Count,
}

/// The number of unpaired edges.
#[derive(Debug, Default)]
struct Count {
    unpaired: Unpaired,
    /// The begins that were given up because too many waited.
    given_up: u64,
}

impl Default for Scopes {
    fn default() -> Self {
        let pairing = Pairing::new(MAX_WAITING);
        Self { catalog: Catalog::default(), pairing, lost: Lost::default() }
    }
}

impl Scopes {
    pub(super) fn record(&mut self, item: &Item<'_>) {
        let Record::Event(event) = &item.record else { return self.catalog.note(item) };
        if matches!(event.kind, EventKind::FlowBegin { .. } | EventKind::FlowEnd { .. }) {
            return;
        }
        let thread = item.thread(event.thread);
        let Some(edge) = Edge::of(&mut self.catalog, item, event, thread) else { return };
        for outcome in self.pairing.push(&self.catalog, edge) {
            if let Outcome::Unpaired(edge) = &outcome {
                self.lost.count_of(edge.track).given_up += u64::from(!edge.is_end);
            }
            self.lost.add(outcome);
        }
    }

    /// Returns the open scopes at the end of the archive.
    pub(super) fn finish(self) -> OpenScopes {
        let Self { catalog, pairing, mut lost } = self;
        pairing.finish(&catalog).for_each(|outcome| lost.add(outcome));
        lost.keep_first();
        let (durations, operations) = (lost.durations.finish(), lost.operations.finish());
        let text = |text| cut_str(text, MAX_NAME_BYTES).to_owned();
        let scope = |(nanos, thread, label): &(u64, ThreadKoids, LabelId)| OpenScope {
            thread: *thread,
            category: text(catalog.category(*label)),
            name: text(catalog.name(*label)),
            nanos: *nanos,
        };
        let listed = usize::try_from(durations.begins).unwrap_or(usize::MAX);
        let open_scopes = lost.begins.iter().take(listed).map(scope).collect();
        OpenScopes { open_scopes, durations, operations, catalog }
    }
}

impl Lost {
    fn add(&mut self, outcome: Outcome<ThreadKoids>) {
        let (Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge)) = outcome else { return };
        self.count_of(edge.track).unpaired.count(&edge);
        if edge.is_end || !matches!(edge.track, Track::Thread(_)) {
            return;
        }
        self.begins.push((edge.nanos, edge.value, edge.label));
        if self.begins.len() >= 2 * MAX_REPORTED {
            self.keep_first();
        }
    }

    fn count_of(&mut self, track: Track) -> &mut Count {
        match track {
            Track::Thread(_) => &mut self.durations,
            Track::Operation { .. } | Track::Flow { .. } => &mut self.operations,
        }
    }

    fn keep_first(&mut self) {
        self.begins.sort_unstable();
        self.begins.truncate(MAX_REPORTED);
    }
}

impl Count {
    /// Returns the unpaired edges at the end of the archive.
    fn finish(&self) -> Unpaired {
        let Unpaired { begins, ends } = self.unpaired;
        // These ends belong to begins that were given up.
        let late = self.given_up.min(ends);
        Unpaired { begins: begins - late, ends: ends - late }
    }
}
