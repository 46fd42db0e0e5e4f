//! The threads whose spans have rows, and the spans around those of ordered threads.

use trace_analyze::catalog::{Catalog, ThreadId};
use trace_format::{Event, EventKind, Item};

use super::{Place, Threads};
use crate::directory::Directory;
use crate::stack::{self, Stack};
use crate::times::nanos;

/// The threads whose spans have rows, with what the directory says of them.
pub(super) struct Chosen<'a> {
    directory: &'a Directory,
    threads: Threads,
    /// Whether a row needs the self time or the role, which depend on other events.
    needs_others: bool,
    /// The state of each thread of the catalog.
    states: Vec<State>,
}

/// The state of a thread.
#[derive(Debug)]
enum State {
    /// Its spans have no rows.
    Other,
    /// Its spans have a record each, and these are the open ones, if they are needed.
    Ordered(Option<Stack>),
    Unordered,
}

/// What becomes of an event.
pub(super) enum Choice {
    None,
    /// A row.
    Row(Place),
    /// A span, with others.
    Span(Place),
}

impl<'a> Chosen<'a> {
    pub(super) fn new(directory: &'a Directory, threads: Threads, needs_others: bool) -> Self {
        Self { directory, threads, needs_others, states: Vec::new() }
    }

    /// Returns what becomes of an event of a span, or of the mark of one.
    #[inline]
    pub(super) fn of(
        &mut self,
        catalog: &mut Catalog,
        item: &Item<'_>,
        event: &Event<'_>,
        id: i64,
    ) -> Choice {
        let thread = catalog.thread(item, event.thread);
        if self.states.len() <= thread.place() {
            self.add(catalog, thread);
        }
        let mut place = Place { id, ..Place::default() };
        let stack = match self.states.get_mut(thread.place()) {
            None | Some(State::Other) => return Choice::None,
            Some(State::Unordered) => return Choice::Span(place),
            Some(State::Ordered(stack)) => stack,
        };
        let EventKind::DurationComplete { end } = event.kind else {
            // The mark of a span.
            return if self.needs_others { Choice::Span(place) } else { Choice::None };
        };
        if let Some(stack) = stack {
            let (start, end) = (nanos(item, event.ticks), nanos(item, end.max(event.ticks)));
            let event = stack::Event { track: 0, start, end, id, last_id: id, is_span: true };
            let (parent, depth) = stack.event(&event);
            (place.parent, place.depth) = (parent.unwrap_or(0), depth);
        }
        match self.needs_others {
            true => Choice::Span(place),
            false => Choice::Row(place),
        }
    }

    #[cold]
    fn add(&mut self, catalog: &Catalog, thread: ThreadId) {
        for place in self.states.len()..=thread.place() {
            let number = self.directory.number(catalog.koids(ThreadId(place as u32)));
            let state = match (self.threads, self.directory.is_ordered(number)) {
                (Threads::Ordered, true) => State::Ordered(Some(Stack::default())),
                (Threads::All, true) => State::Ordered(None),
                (Threads::All | Threads::Unordered, false) => State::Unordered,
                (Threads::Ordered, false) | (Threads::Unordered, true) => State::Other,
            };
            self.states.push(state);
        }
    }
}
