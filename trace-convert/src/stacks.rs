//! Which durations were inside which: folded stacks, speedscope, CSV.
//!
//! | output             | what it is                                                     |
//! |--------------------|----------------------------------------------------------------|
//! | [`Stacks::folded`] | a line for each stack: names from the outermost on with `;` between, then the nanoseconds spent in it and in nothing within it |
//! | [`Stacks::speedscope`] | the JSON of <https://www.speedscope.app>, a profile for each thread |
//! | [`Stacks::csv`]    | a line for each duration                                       |
//!
//! A duration that reaches over the end of the one it began in counts up to
//! there, since a stack knows nothing else; only CSV has its length.
//!
//! What is around a duration can come behind it, and the outputs are thread by
//! thread: durations wait, 20 bytes each, in a temporary file if they are more
//! than a hundred thousand. Memory grows with how many are open at once, and for
//! folded stacks with how many different ones there are.

mod folded;
mod output;
mod sorted;

use std::io::{self, Read};

use trace_format::{Reader, ThreadKoids};

use crate::ConvertError;
pub use folded::{Folded, MAX_DEPTH};
use sorted::Sorted;
use trace_analyze::catalog::{Catalog, LabelId, ThreadId};
use trace_analyze::spans::{Oddities, Span, Spans};
use trace_analyze::Damage;

/// The durations of an archive, by thread.
#[derive(Debug, Default)]
pub struct Stacks {
    spans: Spans,
    durations: Sorted,
    threads: Vec<ThreadStack>,
    /// The categories and names that durations have, by their numbers.
    labels: Vec<bool>,
    /// What of the durations did not fit together.
    pub oddities: Oddities,
    /// What is missing in the archive.
    pub damage: Damage,
}

/// A thread with durations.
#[derive(Debug, Clone, Copy)]
struct ThreadStack {
    thread: ThreadId,
    koids: ThreadKoids,
    /// When the first of them begins, in nanoseconds.
    first: u64,
    /// When the last of them ends.
    last: u64,
}

/// A duration, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Duration {
    begin: u64,
    end: u64,
    label: LabelId,
    thread: ThreadId,
}

/// A duration in its place.
#[derive(Debug, Clone, Copy)]
struct Framed {
    label: LabelId,
    begin: u64,
    /// Its end, or that of what is around it.
    end: u64,
    /// How long it took, also beyond that.
    length: u64,
    /// How much of it nothing within it takes.
    own: u64,
    /// How many are around it.
    depth: usize,
}

/// What a walk over the durations of a thread meets.
trait Visitor {
    fn open(&mut self, frame: &Framed) -> io::Result<()>;
    /// `frame` has its own time now.
    fn close(&mut self, frame: &Framed) -> io::Result<()>;
}

impl Stacks {
    /// Reads all durations of an archive.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed, or writing a temporary
    /// file.
    pub fn read<R: Read>(reader: Reader<R>) -> Result<Self, ConvertError> {
        let mut spans = Spans::default();
        let mut stacks = Self::default();
        stacks.damage = Damage::of_all(reader, |item| {
            spans.record(item).for_each(|span| stacks.add(&span));
        })?;
        spans.finish().for_each(|span| stacks.add(&span));
        stacks.oddities = spans.oddities();
        stacks.durations.finish()?;
        stacks.threads.retain(|thread| thread.first <= thread.last);
        stacks.threads.sort_by_key(|thread| thread.koids);
        Ok(Self { spans, ..stacks })
    }

    fn add(&mut self, span: &Span) {
        let Span { thread, koids, label, rate, .. } = *span;
        let (begin, end) = (rate.to_nanos(span.begin), rate.to_nanos(span.end));
        while self.threads.len() <= thread.place() {
            let thread = ThreadId(self.threads.len() as u32);
            self.threads.push(ThreadStack { thread, koids, first: u64::MAX, last: 0 });
        }
        if let Some(thread) = self.threads.get_mut(thread.place()) {
            thread.koids = koids;
            thread.first = thread.first.min(begin);
            thread.last = thread.last.max(end);
        }
        if self.labels.len() <= label.0 as usize {
            self.labels.resize(label.0 as usize + 1, false);
        }
        if let Some(is_used) = self.labels.get_mut(label.0 as usize) {
            *is_used = true;
        }
        self.durations.push(Duration { begin, end, label, thread });
    }

    fn catalog(&self) -> &Catalog {
        self.spans.catalog()
    }

    /// Goes over the durations of a thread.
    fn walk(&self, thread: ThreadId, visitor: &mut impl Visitor) -> io::Result<()> {
        let mut open: Vec<Framed> = Vec::new();
        self.durations.each(thread, |Duration { begin, mut end, label, .. }| {
            while open.last().is_some_and(|last| last.end <= begin) {
                close(&mut open, visitor)?;
            }
            let length = end - begin;
            if let Some(around) = open.last_mut() {
                end = end.min(around.end);
                around.own = around.own.saturating_sub(end - begin);
            }
            let frame = Framed { label, begin, end, length, own: end - begin, depth: open.len() };
            visitor.open(&frame)?;
            open.push(frame);
            Ok(())
        })?;
        while !open.is_empty() {
            close(&mut open, visitor)?;
        }
        Ok(())
    }
}

/// Returns a process or thread as a frame.
fn named(koid: u64, name: &str) -> String {
    match name {
        "" => koid.to_string(),
        name => format!("{} ({koid})", frame_name(name)),
    }
}

/// Returns a name without what separates frames and lines.
fn frame_name(name: &str) -> String {
    if name.is_empty() {
        return "(no name)".to_owned();
    }
    name.replace(';', ":").replace(char::is_control, " ")
}

fn close(open: &mut Vec<Framed>, visitor: &mut impl Visitor) -> io::Result<()> {
    open.pop().map_or(Ok(()), |frame| visitor.close(&frame))
}

#[cfg(test)]
mod tests;
