//! Which operation or flow is looked at.

use std::io::Read;

use trace_format::{EventKind, ReadError, Reader, Record};

use crate::catalog::{Catalog, LabelId};
use crate::links::{Key, Link, Links, Moment, Unpaired};
use crate::Damage;

/// Which operations or flows come into question; all if nothing is said.
#[derive(Default)]
pub struct Choice<'a> {
    /// Flows, not operations.
    pub flows: bool,
    /// Which categories.
    pub category: Option<&'a dyn Fn(&str) -> bool>,
    /// Which names.
    pub name: Option<&'a dyn Fn(&str) -> bool>,
    /// Only this id.
    pub id: Option<u64>,
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
        self.id.is_none_or(|wanted| wanted == id)
            && self.category.is_none_or(|category| category(catalog.category(label)))
            && self.name.is_none_or(|name| name(catalog.name(label)))
    }
}

/// An operation or a flow that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// It is a flow.
    pub is_flow: bool,
    /// Its category.
    pub category: String,
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: u64,
    /// The process of its begin.
    pub process: u64,
    /// When it began, in nanoseconds of the clock.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
}

/// What came into question.
#[derive(Debug, Default)]
pub struct Found {
    /// What took longest, if anything has a begin and an end.
    pub slowest: Option<Chosen>,
    /// What has only one of them.
    pub unpaired: Unpaired,
    /// What is missing in the archive.
    pub damage: Damage,
}

/// Returns the operation or flow that took longest of those that come into
/// question.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn slowest<R: Read>(reader: Reader<R>, choice: &Choice<'_>) -> Result<Found, ReadError> {
    let mut catalog = Catalog::default();
    let mut links = Links::default();
    let mut longest: Option<Link> = None;
    let length = |link: &Link| link.end - link.begin.nanos;
    let mut look = |link: Link| {
        if longest.is_none_or(|longest| length(&link) > length(&longest)) {
            longest = Some(link);
        }
    };
    let damage = Damage::of_all(reader, |item| {
        catalog.note(item);
        let Record::Event(event) = &item.record else { return };
        let (id, is_begin) = match (event.kind, choice.flows) {
            (EventKind::AsyncBegin { id }, false) | (EventKind::FlowBegin { id }, true) => {
                (id, true)
            }
            (EventKind::AsyncEnd { id }, false) | (EventKind::FlowEnd { id }, true) => (id, false),
            _ => return,
        };
        let label = catalog.label(item, event.category, event.name);
        if !choice.admits(&catalog, label, id) {
            return;
        }
        let thread = item.thread(event.thread);
        let nanos = item.nanos(event.ticks);
        let key = Key { process: if choice.flows { 0 } else { thread.process }, label, id };
        let at = Moment { nanos, thread };
        match is_begin {
            true => links.begin(key, at, &mut look),
            false => links.end(key, at, &mut look),
        }
    })?;
    let unpaired = links.finish(&mut look);
    let slowest = longest.map(|Link { key, begin, end }| Chosen {
        is_flow: choice.flows,
        category: catalog.category(key.label).to_owned(),
        name: catalog.name(key.label).to_owned(),
        id: key.id,
        process: begin.thread.process,
        begin: begin.nanos,
        end,
    });
    Ok(Found { slowest, unpaired, damage })
}
