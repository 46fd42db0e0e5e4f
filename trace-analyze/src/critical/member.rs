//! The operations of a path.

use std::collections::HashMap;
use std::io::Read;

use serde_json::Value as Json;
use trace_format::{Event, EventKind, Item, ReadError, Reader, Record};

use super::{Chosen, Segment};
use crate::{arguments, Damage};

/// An operation or a flow on a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The id.
    pub id: u64,
    /// The number of operations around it.
    pub depth: usize,
    /// The arguments of its begin and its end by name.
    pub arguments: Vec<(String, Json)>,
}

/// Returns the operations of a path: the chosen one, then the others in the order of time.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn members<R: Read>(
    chosen: &Chosen,
    segments: &[Segment],
    reader: Reader<R>,
) -> Result<Vec<Member>, ReadError> {
    let mut members = vec![Member {
        category: chosen.category.clone(),
        name: chosen.name.clone(),
        id: chosen.id,
        depth: 0,
        arguments: Vec::new(),
    }];
    let mut places = HashMap::from([(chosen.id, 0)]);
    for segment in segments {
        let Some(id) = segment.id else { continue };
        places.entry(id).or_insert_with(|| {
            let (category, name) = (segment.category.clone(), segment.name.clone());
            let (depth, arguments) = (segment.depth, Vec::new());
            members.push(Member { category, name, id, depth, arguments });
            members.len() - 1
        });
    }
    Damage::of_all(reader, |item| {
        let Record::Event(event) = &item.record else { return };
        let place = border(chosen, item, event).and_then(|id| places.get(&id));
        if let Some(member) = place.and_then(|place| members.get_mut(*place)) {
            member.add_arguments(item, event);
        }
    })?;
    Ok(members)
}

/// Returns the id of an operation or a flow that an event begins or ends during the chosen one.
fn border(chosen: &Chosen, item: &Item<'_>, event: &Event<'_>) -> Option<u64> {
    let id = match (event.kind, chosen.is_flow) {
        (EventKind::AsyncBegin { id } | EventKind::AsyncEnd { id }, false) => id,
        (EventKind::FlowBegin { id } | EventKind::FlowEnd { id }, true) => id,
        _ => return None,
    };
    let is_of_process = chosen.is_flow || item.thread(event.thread).process == chosen.process;
    let is_meanwhile = (chosen.begin..=chosen.end).contains(&item.nanos(event.ticks));
    (is_of_process && is_meanwhile).then_some(id)
}

impl Member {
    /// Adds the arguments of an event. Parts of one operation can repeat arguments.
    fn add_arguments(&mut self, item: &Item<'_>, event: &Event<'_>) {
        for argument in event.arguments.iter() {
            let name = item.text(argument.name).into_owned();
            let argument = (name, arguments::to_json(item, argument.value));
            if !self.arguments.contains(&argument) {
                self.arguments.push(argument);
            }
        }
    }
}
