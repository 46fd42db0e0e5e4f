//! The operations of a path.

use std::collections::HashMap;
use std::io::Read;

use serde_json::Value as Json;
use trace_format::{Event, EventKind, Item, ReadError, Reader, Record};

use super::{Chosen, Path};
use crate::{arguments, Damage};

/// The most arguments of a member. An id can be used again and again during the chosen operation.
const MAX_ARGUMENTS: usize = 100;

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
    /// Whether arguments are omitted because there are more than 100.
    pub has_more_arguments: bool,
}

impl Path {
    /// Adds the arguments of the members.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read_arguments<R: Read>(
        &mut self,
        chosen: &Chosen,
        reader: Reader<R>,
    ) -> Result<(), ReadError> {
        let members = self.members.iter_mut().map(|member| (member.id, member));
        let mut members: HashMap<u64, &mut Member> = members.collect();
        Damage::of_all(reader, |item| {
            let Record::Event(event) = &item.record else { return };
            let member = border(chosen, item, event).and_then(|id| members.get_mut(&id));
            if let Some(member) = member.filter(|member| member.has_label(item, event)) {
                member.add_arguments(item, event);
            }
        })?;
        Ok(())
    }
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
    pub(super) fn new(category: &str, name: &str, id: u64, depth: usize) -> Self {
        let (category, name) = (category.to_owned(), name.to_owned());
        Self { category, name, id, depth, arguments: Vec::new(), has_more_arguments: false }
    }

    /// Returns whether an event has the category and the name of this member. Those of an end can
    /// be empty, as in [`pairing`](crate::pairing).
    fn has_label(&self, item: &Item<'_>, event: &Event<'_>) -> bool {
        let is_end = matches!(event.kind, EventKind::AsyncEnd { .. } | EventKind::FlowEnd { .. });
        let is_same = |text: &str, of: &str| text == of || (is_end && text.is_empty());
        is_same(&item.text(event.name), &self.name)
            && is_same(&item.text(event.category), &self.category)
    }

    /// Adds the arguments of an event. Parts of one operation can repeat arguments.
    fn add_arguments(&mut self, item: &Item<'_>, event: &Event<'_>) {
        if self.has_more_arguments {
            return;
        }
        for argument in event.arguments.iter() {
            let name = item.text(argument.name).into_owned();
            let argument = (name, arguments::to_json(item, argument.value));
            if self.arguments.contains(&argument) {
                continue;
            }
            if self.arguments.len() == MAX_ARGUMENTS {
                self.has_more_arguments = true;
                return;
            }
            self.arguments.push(argument);
        }
    }
}
