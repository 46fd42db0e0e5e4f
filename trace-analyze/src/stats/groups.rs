//! The groups that separate or select rows.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use trace_format::{Event, EventKind, Item, ReadError, Reader, Record, ThreadKoids, Value};

use super::enclosing::Enclosing;
use super::polls::{Polls, NONE};
use super::{By, Group, GroupValue, Grouping};
use crate::arguments::{self, Condition, Met};
use crate::catalog::Catalog;
use crate::spans::{Span, Spans};
use crate::Damage;

/// The most values with rows of their own.
const MAX_VALUES: usize = 1000;

/// The group of values beyond the limit.
const OTHER_VALUES: u32 = 1;

/// The bit of a group that an event has from a duration or operation around it, with
/// [`By::Argument`].
const INHERITED: u32 = 1 << 31;

/// The groups of rows, by their numbers.
// With [`By::Conditions`], a number has a bit for each condition that is met.
#[derive(Debug, Clone)]
pub struct Groups<'a> {
    pub(super) by: By<'a>,
    polls: Arc<Polls>,
    /// The groups of durations for the events within them, if these inherit.
    enclosing: Option<Arc<Enclosing>>,
    list: Vec<ThreadKoids>,
    ids: HashMap<ThreadKoids, u32>,
    /// The last thread, with its number.
    last: Option<(ThreadKoids, u32)>,
    values: HashMap<String, u32>,
    /// Durations whose group is unknown, because there are too many operations or durations.
    pub(super) values_left_out: u64,
    /// The events with [`OTHER_VALUES`] of their own.
    pub(super) other_values: u64,
}

impl<'a> Groups<'a> {
    pub(crate) fn new(by: By<'a>) -> Self {
        Self {
            by,
            polls: Arc::default(),
            enclosing: None,
            list: Vec::new(),
            ids: HashMap::new(),
            last: None,
            values: HashMap::new(),
            values_left_out: 0,
            other_values: 0,
        }
    }

    /// Reads the arguments of operations, so that their polls have the same groups, and can meet
    /// conditions by these arguments.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(by: By<'a>, reader: Reader<R>) -> Result<Self, ReadError> {
        Self::read_operations(by, reader, Polls::default())
    }

    /// Reads the arguments of operations and durations. An event without the argument of
    /// [`By::Argument`] has the value of the innermost duration around it that has one. An
    /// operation has that of its nearest ancestor, or else of the duration around its begin. Polls
    /// have the value of their operation or its ancestors, and so have the events within them.
    /// Calls `open` twice. Memory grows with the number of durations that have the argument, up to
    /// four million.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed, or `open` failed.
    pub fn read_inherited<R: Read, E: From<ReadError>>(
        key: &'a str,
        open: impl Fn() -> Result<Reader<R>, E>,
    ) -> Result<Self, E> {
        let polls = Polls::with_inheritance();
        let mut groups = Self::read_operations(By::Argument(key), open()?, polls)?;
        let (mut spans, mut enclosing) = (Spans::with_values(), Enclosing::default());
        let mut add = |groups: &mut Self, span: &Span<u32>| {
            let group = groups.of_span(span);
            if group != NONE {
                enclosing.add(span, group);
            }
        };
        Damage::of_all(open()?, |item| {
            let group = groups.of_edge(item);
            spans.record_with(item, group).for_each(|span| add(&mut groups, &span));
        })?;
        spans.finish().for_each(|span| add(&mut groups, &span));
        enclosing.finish();
        // The next pass counts them.
        let Self { by, polls, values, .. } = groups;
        let values_left_out = enclosing.left_out;
        let enclosing = Some(Arc::new(enclosing));
        Ok(Self { polls, values, values_left_out, enclosing, ..Self::new(by) })
    }

    fn read_operations<R: Read>(
        by: By<'a>,
        reader: Reader<R>,
        mut polls: Polls,
    ) -> Result<Self, ReadError> {
        let mut groups = Self::new(by);
        Damage::of_all(reader, |item| {
            let Record::Event(event) = &item.record else { return };
            let group = match event.kind {
                EventKind::AsyncBegin { .. } | EventKind::AsyncEnd { .. } => {
                    groups.of_event(item, event)
                }
                _ => NONE,
            };
            polls.add(item, event, group);
        })?;
        polls.finish(&groups.by);
        // The next pass counts them.
        groups.other_values = 0;
        Ok(Self { polls: Arc::new(polls), ..groups })
    }

    /// Returns the number of a thread's group.
    #[inline]
    pub(super) fn of(&mut self, koids: ThreadKoids) -> u32 {
        match (&self.by, self.last) {
            (By::Group(Grouping::Together), _) => NONE,
            (By::Argument(_) | By::Conditions(_) | By::Parent(_), _) => NONE,
            (_, Some((last, id))) if last == koids => id,
            _ => self.of_slow(koids),
        }
    }

    fn of_slow(&mut self, koids: ThreadKoids) -> u32 {
        let group = match self.by {
            By::Group(Grouping::Thread) => koids,
            _ => ThreadKoids::new(koids.process, 0),
        };
        let next = self.list.len() as u32;
        let id = *self.ids.entry(group).or_insert(next);
        if id == next {
            self.list.push(group);
        }
        self.last = Some((koids, id));
        id
    }

    /// Returns the number of an event's group.
    pub(crate) fn of_event(&mut self, item: &Item<'_>, event: &Event<'_>) -> u32 {
        let koids = item.thread(event.thread);
        let value = match (&self.by, event.kind) {
            (By::Group(_), _) => return self.of(koids),
            (By::Conditions(conditions), _) => return Met::new(conditions, item, event).bits(),
            (By::Argument(key), _) => value_of(item, event, key),
            (By::Parent(parents), EventKind::AsyncBegin { id }) => {
                let path = parents.path(&parents.ancestors(koids.process, id));
                Some(path).filter(|path| !path.is_empty())
            }
            (By::Parent(_), _) => None,
        };
        value.map_or(NONE, |value| self.of_value(value))
    }

    /// Returns the number of the group of an event that is not about a duration: its own one, or
    /// that of the duration or operation around it.
    pub(super) fn of_own_or_around(&mut self, item: &Item<'_>, event: &Event<'_>) -> u32 {
        let own = self.of_event(item, event);
        let (NONE, Some(_)) = (own, &self.enclosing) else { return own };
        if let EventKind::AsyncBegin { id } = event.kind {
            match self.polls.of_operation(item, event, id) {
                (NONE, _) => {}
                (group, true) => return group | INHERITED,
                (group, false) => return group,
            }
        }
        let nanos = item.nanos(event.ticks);
        self.around(item.thread(event.thread), nanos, nanos)
    }

    /// Returns the group of the duration around a time of a thread, if groups are inherited.
    fn around(&self, thread: ThreadKoids, begin: u64, end: u64) -> u32 {
        let enclosing = self.enclosing.as_ref();
        let group = enclosing.and_then(|enclosing| enclosing.group(thread, begin, end));
        group.map_or(NONE, |group| group | INHERITED)
    }

    /// Returns the number of the group that an end has if its begin has none.
    pub(super) fn of_end(&mut self, item: &Item<'_>, event: &Event<'_>) -> u32 {
        match self.by {
            By::Argument(_) | By::Conditions(_) => self.of_event(item, event),
            _ => NONE,
        }
    }

    fn of_value(&mut self, value: String) -> u32 {
        if let Some(id) = self.values.get(&value) {
            return *id;
        }
        if self.values.len() >= MAX_VALUES {
            self.other_values += 1;
            return OTHER_VALUES;
        }
        let id = OTHER_VALUES + 1 + self.values.len() as u32;
        self.values.insert(value, id);
        id
    }

    /// Returns the number of the group that a record has by its arguments if it begins or ends a
    /// duration, as the value of [`Spans::record_with`].
    #[inline]
    pub(crate) fn of_edge(&mut self, item: &Item<'_>) -> u32 {
        match (&item.record, self.by) {
            (Record::Event(event), By::Argument(_) | By::Conditions(_)) => match event.kind {
                EventKind::DurationBegin | EventKind::DurationComplete { .. } => {
                    self.of_duration(item, event)
                }
                EventKind::DurationEnd => self.of_event(item, event),
                _ => NONE,
            },
            _ => NONE,
        }
    }

    /// Returns the group of a duration that begins: its own one, or that of the operation that it
    /// polls.
    fn of_duration(&mut self, item: &Item<'_>, event: &Event<'_>) -> u32 {
        let group = self.of_event(item, event);
        let has_own = group != NONE;
        let Some(polled) = self.polls.group(item, event) else {
            let is_unknown = !has_own && self.polls.is_too_long() && is_poll(item, event);
            self.values_left_out += u64::from(is_unknown);
            return group;
        };
        if self.enclosing.is_some() && polled != NONE {
            return self.by.joined(group, polled | INHERITED);
        }
        if !has_own && polled == OTHER_VALUES && matches!(self.by, By::Argument(_)) {
            self.other_values += 1;
        }
        self.by.joined(group, polled)
    }

    /// Returns the number of a duration's group. The values of its events are those of
    /// [`Groups::of_edge`].
    #[inline]
    pub(crate) fn of_span(&mut self, span: &Span<u32>) -> u32 {
        match self.by {
            By::Argument(_) | By::Conditions(_) => {
                match self.by.joined(span.begin_value, span.end_value) {
                    NONE if self.enclosing.is_some() => {
                        let [begin, end] = [span.begin, span.end].map(|at| span.rate.to_nanos(at));
                        self.around(span.koids, begin, end)
                    }
                    group => group,
                }
            }
            _ => self.of(span.koids),
        }
    }

    /// Returns the conditions that select events.
    pub(crate) fn conditions(&self) -> &'a [Condition] {
        match self.by {
            By::Conditions(conditions) => conditions,
            _ => &[],
        }
    }

    /// Returns whether a row with this group is part of the result.
    pub(crate) fn selects(&self, group: u32) -> bool {
        match self.by {
            By::Conditions(conditions) => Met::from_bits(group).is_all(conditions),
            _ => true,
        }
    }

    /// Returns whether a group has the values beyond the limit.
    pub(super) fn is_other(&self, group: u32) -> bool {
        matches!(self.by, By::Argument(_)) && group == OTHER_VALUES
    }

    /// Returns a function that returns the group with a number.
    pub(super) fn names<'c>(&'c self, catalog: &'c Catalog) -> impl Fn(u32) -> Option<Group> + 'c {
        let values = self.values.iter().map(|(value, id)| (*id, value.as_str()));
        let values: HashMap<u32, &str> = values.collect();
        move |id| match &self.by {
            By::Group(Grouping::Together) | By::Conditions(_) => None,
            By::Group(grouping) => self.of_koids(*grouping, id, catalog),
            By::Argument(_) | By::Parent(_) => {
                let value = match id {
                    NONE => GroupValue::None,
                    OTHER_VALUES => GroupValue::Other,
                    id => GroupValue::Text(values.get(&id).copied().unwrap_or_default().to_owned()),
                };
                Some(Group { value: Some(value), ..Group::default() })
            }
        }
    }

    fn of_koids(&self, grouping: Grouping, id: u32, catalog: &Catalog) -> Option<Group> {
        let koids = *self.list.get(id as usize)?;
        let thread_name = match grouping {
            Grouping::Thread => catalog.thread_name(koids).to_owned(),
            _ => String::new(),
        };
        let process_name = catalog.process_name(koids.process).to_owned();
        Some(Group { koids, process_name, thread_name, value: None })
    }
}

impl<'a> From<By<'a>> for Groups<'a> {
    fn from(by: By<'a>) -> Self {
        Self::new(by)
    }
}

impl From<Grouping> for Groups<'_> {
    fn from(grouping: Grouping) -> Self {
        Self::new(grouping.into())
    }
}

impl By<'_> {
    /// Returns the group of the begin, or if it has none of its own, that of the end. Conditions
    /// can be met by either.
    pub(crate) fn joined(&self, begin: u32, end: u32) -> u32 {
        match (self, self.split(begin)) {
            (By::Conditions(_), _) => begin | end,
            (_, (NONE, _) | (_, true)) if end != NONE => end,
            _ => begin,
        }
    }

    /// Returns the number of a row's group, and whether it is that of a duration or operation
    /// around the event.
    pub(super) fn split(&self, group: u32) -> (u32, bool) {
        match self {
            By::Argument(_) => (group & !INHERITED, group & INHERITED != 0),
            _ => (group, false),
        }
    }
}

/// Returns whether a duration names the operation that it polls.
fn is_poll(item: &Item<'_>, event: &Event<'_>) -> bool {
    arguments::named(item, &event.arguments, "task").next().is_some()
}

/// Returns the value of the first argument with this name as text.
fn value_of(item: &Item<'_>, event: &Event<'_>, key: &str) -> Option<String> {
    let value = arguments::named(item, &event.arguments, key).next()?;
    Some(match value {
        Value::String(text) => item.text(text).into_owned(),
        value => match arguments::to_json(item, value) {
            serde_json::Value::String(text) => text,
            json => json.to_string(),
        },
    })
}
