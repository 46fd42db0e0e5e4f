//! Async operations that are under way.
//!
//! In a document an operation is what has a category and an id: its end may lack
//! the name, and be of another process. For readers of FXT it is of a process
//! and has a name, so that these are what the begin has; the document's own are
//! carried.

use std::collections::HashMap;

use trace_format::{EventKind, ThreadKoids};

use super::draft::Draft;
use super::head::{self, Absent, Head, Id};
use super::MAX_NAMED;
use crate::tef::event::Event;
use trace_analyze::pairing::MAX_SEARCH;

/// The operations that have not ended, as many as have room here.
#[derive(Debug, Default)]
pub(super) struct Operations {
    open: HashMap<u64, Vec<Begin>>,
    count: usize,
}

#[derive(Debug)]
struct Begin {
    name: Box<str>,
    thread: ThreadKoids,
}

impl Operations {
    /// Takes note of an event of an operation, and gives it what its begin has.
    pub(super) fn note<'a>(
        &mut self,
        draft: &mut Draft<'a>,
        event: &Event<'a>,
        head: &mut Head<'a>,
        absent: &mut Absent,
        (kind, id): (EventKind, Id),
    ) {
        let process = if id.is_local { head.thread.process } else { 0 };
        let category = draft.of(head.category).as_bytes();
        let key = head::hash(&[category, &id.number.to_le_bytes(), &process.to_le_bytes()]);
        if let EventKind::AsyncBegin { .. } = kind {
            if self.count < MAX_NAMED {
                let begin = Begin { name: draft.of(head.name).into(), thread: head.thread };
                self.open.entry(key).or_default().push(begin);
                self.count += 1;
            }
            return;
        }
        let Some(open) = self.open.get_mut(&key) else {
            return;
        };
        let name = draft.of(head.name);
        let mut inner = open.iter().rev().take(MAX_SEARCH);
        let Some(inside) = inner.position(|begin| name.is_empty() || *begin.name == *name) else {
            return;
        };
        let place = open.len() - 1 - inside;
        if let Some(begin) = open.get(place) {
            adopt(draft, event, head, absent, begin);
        }
        if let EventKind::AsyncEnd { .. } = kind {
            open.remove(place);
            self.count -= 1;
            if open.is_empty() {
                self.open.remove(&key);
            }
        }
    }
}

fn adopt<'a>(
    draft: &mut Draft<'a>,
    event: &Event<'a>,
    head: &mut Head<'a>,
    absent: &mut Absent,
    begin: &Begin,
) {
    if draft.of(head.name).is_empty() && !begin.name.is_empty() {
        head.name = draft.format(format_args!("{}", begin.name));
        absent.name = event.name().is_none();
    }
    if head.thread.process != begin.thread.process {
        head.thread = begin.thread;
        for (key, value) in [("pid", event.process()), ("tid", event.thread())] {
            if let Some(value) = value.filter(|value| head::plain_koid(*value).is_some()) {
                draft.known_member(key, value);
            }
        }
    }
}
