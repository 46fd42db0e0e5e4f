//! Async operations in progress.
//!
//! In a document, an operation is identified by category and id: its end may have no name, or
//! another process. In FXT it is identified by its process and name, too. Therefore its events get
//! those of the begin, and the archive carries the document's values.

use trace_analyze::pairing::OpenBegins;
use trace_format::{EventKind, ThreadKoids};

use super::draft::Draft;
use super::head::{self, Head, Id};
use super::{ids, MAX_NAMED};
use crate::tef::field::Field;

/// The operations that have not ended, up to a limit.
#[derive(Debug)]
pub(super) struct Operations(OpenBegins<u64, Begin>);

impl Default for Operations {
    fn default() -> Self {
        Self(OpenBegins::new(MAX_NAMED))
    }
}

#[derive(Debug)]
struct Begin {
    name: Box<str>,
    thread: ThreadKoids,
}

impl Operations {
    /// Adds an event of an operation. An instant or end gets name and process of its begin.
    pub(super) fn note<'a>(
        &mut self,
        draft: &mut Draft<'a>,
        head: &mut Head<'a>,
        kind: EventKind,
        id: Id,
    ) {
        let process = if id.is_local { head.thread.process } else { 0 };
        let category = draft.of(head.category).as_bytes();
        let key = ids::hash(&[category, &id.number.to_le_bytes(), &process.to_le_bytes()]);
        let name = draft.of(head.name);
        let matches = |begin: &Begin| name.is_empty() || *begin.name == *name;
        match kind {
            EventKind::AsyncBegin { .. } => {
                self.0.begin(key, Begin { name: name.into(), thread: head.thread });
            }
            EventKind::AsyncEnd { .. } => {
                if let Some((begin, _)) = self.0.end(&key, matches) {
                    adopt(draft, head, &begin);
                }
            }
            _ => {
                if let Some(begin) = self.0.find(&key, matches) {
                    adopt(draft, head, begin);
                }
            }
        }
    }
}

fn adopt<'a>(draft: &mut Draft<'a>, head: &mut Head<'a>, begin: &Begin) {
    if draft.of(head.name).is_empty() && !begin.name.is_empty() {
        head.name = draft.format(format_args!("{}", begin.name));
        if draft.event.get(Field::Name).is_none() {
            draft.lack(Field::Name);
        }
    }
    if head.thread.process != begin.thread.process {
        head.thread = begin.thread;
        for field in [Field::Process, Field::Thread] {
            // Other ids are carried already.
            if draft.event.get(field).is_some_and(|value| head::plain_koid(value).is_some()) {
                draft.carry(field);
            }
        }
    }
}
