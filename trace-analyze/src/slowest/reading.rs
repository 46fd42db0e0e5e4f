//! The arguments of the longest instances.

use std::collections::HashMap;

use trace_format::{Event, EventKind, Item, Record};

use super::instance::{is_end, Found, Instance, Key};
use crate::arguments;
use crate::spans::{is_mark, Role};

/// The second pass. Each instance takes one begin and one end: of those at one time the outermost
/// instance takes the first begin, and the innermost one the first end.
pub(super) struct Reading<'a> {
    found: &'a [Found],
    places: HashMap<Key, Vec<usize>>,
    instances: &'a mut [Instance],
    /// Whether the begin and the end of an instance were read.
    seen: Vec<(bool, bool)>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(found: &'a [Found], instances: &'a mut [Instance]) -> Self {
        let mut places: HashMap<Key, Vec<usize>> = HashMap::new();
        for (place, Found { key, end, .. }) in found.iter().enumerate() {
            places.entry(*key).or_default().push(place);
            if key.at(*end) != *key {
                places.entry(key.at(*end)).or_default().push(place);
            }
        }
        Self { found, places, instances, seen: vec![(false, false); found.len()] }
    }

    /// Adds the arguments of an event to the instance that it begins or ends.
    pub(super) fn record(&mut self, item: &Item<'_>) {
        let Record::Event(event) = &item.record else { return };
        if let EventKind::AsyncInstant { id } = event.kind {
            return self.mark(item, event, id);
        }
        let Some(place) = self.place_of(item, event) else { return };
        let (Some(instance), Some(seen)) =
            (self.instances.get_mut(place), self.seen.get_mut(place))
        else {
            return;
        };
        match event.kind {
            EventKind::DurationComplete { .. } => *seen = (true, true),
            kind if is_end(kind) => seen.1 = true,
            _ => seen.0 = true,
        }
        let arguments = event.arguments.iter().map(|argument| {
            (item.text(argument.name).into_owned(), arguments::to_json(item, argument.value))
        });
        instance.arguments.extend(arguments);
        if instance.role != Role::Duration {
            let task = arguments::named_unsigned(item, &event.arguments, "task");
            instance.polled = instance.polled.or(task);
        }
    }

    /// Notes the operation of a poll, which a mark at its begin has. The outermost one of equal
    /// polls takes the first mark.
    fn mark(&mut self, item: &Item<'_>, event: &Event<'_>, id: u64) {
        if !is_mark(item, event) {
            return;
        }
        let key =
            Key::Duration { thread: item.thread(event.thread), nanos: item.nanos(event.ticks) };
        for &place in self.places.get(&key).into_iter().flatten() {
            let Some(instance) = self.instances.get_mut(place) else { continue };
            let is_begin = self.found.get(place).is_some_and(|found| found.key == key);
            let is_unknown = instance.role != Role::Duration && instance.polled.is_none();
            if is_begin && is_unknown && has_name_of(item, event, instance) {
                instance.polled = Some(id);
                return;
            }
        }
    }

    fn place_of(&self, item: &Item<'_>, event: &Event<'_>) -> Option<usize> {
        // The longest ones come first, which enclose the others of the same time.
        let mut places = self.places.get(&Key::of(item, event)?)?.iter().copied();
        match is_end(event.kind) {
            true => places.rfind(|&place| self.takes(place, item, event)),
            false => places.find(|&place| self.takes(place, item, event)),
        }
    }

    fn takes(&self, place: usize, item: &Item<'_>, event: &Event<'_>) -> bool {
        let (Some(found), Some(instance)) = (self.found.get(place), self.instances.get(place))
        else {
            return false;
        };
        let (has_begun, has_ended) = self.seen.get(place).copied().unwrap_or_default();
        let is_seen = if is_end(event.kind) { has_ended } else { has_begun };
        !is_seen && found.has_time_of(item, event) && has_name_of(item, event, instance)
    }
}

/// Returns whether an event has the category and the name of an instance. An end may have empty
/// ones.
fn has_name_of(item: &Item<'_>, event: &Event<'_>, instance: &Instance) -> bool {
    let is_end = is_end(event.kind);
    let is_same = |text: &str, other: &str| text == other || (is_end && text.is_empty());
    is_same(&item.text(event.category), &instance.category)
        && is_same(&item.text(event.name), &instance.name)
}
