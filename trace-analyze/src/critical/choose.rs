//! The choice of an operation or a flow.

use std::io::Read;

use trace_format::{EventKind, ReadError, Reader, Record, ThreadKoids};

use crate::arguments::{Condition, Met};
use crate::catalog::{Catalog, LabelId};
use crate::pairing::{Edge, Outcome, Pairing, Unpaired};
use crate::Damage;

/// The most begins and ends that wait for each other.
pub(super) const MAX_WAITING: usize = 1 << 20;

/// Returns whether a name is selected, by its category and the name.
pub type SelectName<'a> = &'a dyn Fn(&str, &str) -> bool;

/// The operations or flows to choose from. The default is all operations.
#[derive(Default)]
pub struct Choice<'a> {
    /// Whether to choose a flow instead of an operation.
    pub flows: bool,
    /// Returns whether a category is selected.
    pub category: Option<&'a dyn Fn(&str) -> bool>,
    /// Returns whether a name is selected, by its category and the name.
    pub name: Option<SelectName<'a>>,
    /// Returns whether the thread of the begin is selected.
    pub thread: Option<&'a dyn Fn(ThreadKoids) -> bool>,
    /// The selected id.
    pub id: Option<u64>,
    /// Conditions on the arguments of the begin and the end.
    pub arguments: &'a [Condition],
}

impl std::fmt::Debug for Choice<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Choice")
            .field("flows", &self.flows)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Choice<'_> {
    fn admits(&self, catalog: &Catalog, label: LabelId, id: u64) -> bool {
        self.id.is_none_or(|selected| selected == id)
            && self.category.is_none_or(|category| category(catalog.category(label)))
            && self.name.is_none_or(|name| name(catalog.category(label), catalog.name(label)))
    }
}

/// A chosen operation or flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Whether it is a flow.
    pub is_flow: bool,
    /// Its category.
    pub category: String,
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: u64,
    /// The process of its begin.
    pub process: u64,
    /// The time of its begin, in nanoseconds.
    pub begin: u64,
    /// The time of its end.
    pub end: u64,
}

/// The result of a choice.
#[derive(Debug, Default)]
pub struct Found {
    /// The longest operation or flow with a begin and an end.
    pub slowest: Option<Chosen>,
    /// Begins without an end, and ends without a begin.
    pub unpaired: Unpaired,
    /// Missing and unreadable data.
    pub damage: Damage,
}

/// The id, the thread, and the conditions that its arguments meet.
type Own = (u64, ThreadKoids, Met);

/// Length, begin, and end in nanoseconds.
type Longest = (u64, Edge<Own>, u64);

/// Returns the longest of the selected operations or flows.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn slowest<R: Read>(reader: Reader<R>, choice: &Choice<'_>) -> Result<Found, ReadError> {
    let mut catalog = Catalog::default();
    let mut pairing = Pairing::new(MAX_WAITING);
    let mut longest: Option<Longest> = None;
    let mut unpaired = Unpaired::default();
    let mut look = |outcome: Outcome<Own>| match outcome {
        Outcome::Pair { begin, end } => {
            let length = end.nanos - begin.nanos;
            let is_selected = choice.thread.is_none_or(|thread| thread(begin.value.1))
                && begin.value.2.or(end.value.2).is_all(choice.arguments);
            if is_selected && longest.is_none_or(|(longest, ..)| length > longest) {
                longest = Some((length, begin, end.nanos));
            }
        }
        Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) => unpaired.count(&edge),
    };
    let damage = Damage::of_all(reader, |item| {
        catalog.note(item);
        let Record::Event(event) = &item.record else { return };
        let id = match (event.kind, choice.flows) {
            (EventKind::AsyncBegin { id } | EventKind::AsyncEnd { id }, false) => id,
            (EventKind::FlowBegin { id } | EventKind::FlowEnd { id }, true) => id,
            _ => return,
        };
        let met = Met::new(choice.arguments, item, event);
        let value = (id, item.thread(event.thread), met);
        let edge = Edge::of(&mut catalog, item, event, value);
        if let Some(edge) = edge.filter(|edge| choice.admits(&catalog, edge.label, id)) {
            pairing.push(&catalog, edge).for_each(&mut look);
        }
    })?;
    pairing.finish(&catalog).for_each(&mut look);
    let slowest = longest.map(|(_, begin, end)| Chosen {
        is_flow: choice.flows,
        category: catalog.category(begin.label).to_owned(),
        name: catalog.name(begin.label).to_owned(),
        id: begin.value.0,
        process: begin.value.1.process,
        begin: begin.nanos,
        end,
    });
    Ok(Found { slowest, unpaired, damage })
}
