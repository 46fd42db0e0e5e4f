//! Stacks of nested durations: folded stacks and speedscope.
//!
//! | output             | format                                                         |
//! |--------------------|----------------------------------------------------------------|
//! | [`Stacks::folded`] | a line for each stack: names from the outermost on, separated by `;`, then the self time in nanoseconds. [`FrameNames`] has the names |
//! | [`Stacks::speedscope`] | the JSON of <https://www.speedscope.app>, a profile for each thread |
//!
//! A duration that outlasts its parent is cut at the parent's end, because a stack cannot express
//! it.
//!
//! Durations are sorted, because a parent may follow its children in the archive, and outputs are
//! ordered by thread. If there are 2^17, they are in a temporary file, with 20 bytes each. Memory
//! grows with the number of open durations, and for folded output with the number of distinct
//! stacks.

mod duration;
mod folded;
mod frames;
mod output;

use std::io::{self, Read};

use trace_format::{Reader, ThreadKoids};

use crate::sorted::Sorted;
use crate::ConvertError;
use duration::{Duration, RUN_BYTES};
pub use folded::{Folded, MAX_DEPTH};
pub use frames::{frame_name, FrameNames};
use trace_analyze::catalog::{Catalog, LabelId, ThreadId};
use trace_analyze::spans::{Oddities, Span, Spans};
use trace_analyze::stats::Grouping;
use trace_analyze::Damage;

/// The durations of an archive, by thread.
#[derive(Debug)]
pub struct Stacks {
    catalog: Catalog,
    durations: Sorted<Duration>,
    threads: Vec<ThreadStack>,
    /// Whether a duration has the label, for each label.
    labels: Vec<bool>,
    /// Inconsistent durations.
    pub oddities: Oddities,
    /// The damage of the archive.
    pub damage: Damage,
}

/// A thread with durations.
#[derive(Debug, Clone, Copy)]
struct ThreadStack {
    thread: ThreadId,
    koids: ThreadKoids,
    /// The first begin, in nanoseconds.
    first: u64,
    /// The last end.
    last: u64,
}

/// A duration with its place in the stack.
#[derive(Debug, Clone, Copy)]
struct Framed {
    label: LabelId,
    begin: u64,
    /// The end, or the parent's end if that is earlier.
    end: u64,
    /// The self time.
    own: u64,
    /// The number of durations around it.
    depth: usize,
}

/// Visits the durations of a thread in the order of a stack.
trait Visitor {
    fn open(&mut self, frame: &Framed) -> io::Result<()>;
    /// Ends `frame`, whose self time is final now.
    fn close(&mut self, frame: &Framed) -> io::Result<()>;
}

impl Default for Stacks {
    fn default() -> Self {
        Self {
            catalog: Catalog::default(),
            durations: Sorted::new(RUN_BYTES),
            threads: Vec::new(),
            labels: Vec::new(),
            oddities: Oddities::default(),
            damage: Damage::default(),
        }
    }
}

impl Stacks {
    /// Reads all durations of an archive.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it or writing a temporary file failed.
    pub fn read<R: Read>(reader: Reader<R>) -> Result<Self, ConvertError> {
        let mut spans = Spans::default();
        let mut stacks = Self::default();
        stacks.damage = Damage::of_each(reader, |item| {
            let added = spans.record(item).try_for_each(|span| stacks.add(&span));
            added.map_err(ConvertError::Write)
        })?;
        spans.finish().try_for_each(|span| stacks.add(&span))?;
        stacks.oddities = spans.oddities();
        stacks.durations.finish();
        stacks.threads.retain(|thread| thread.first <= thread.last);
        stacks.threads.sort_by_key(|thread| thread.koids);
        Ok(Self { catalog: spans.into_catalog(), ..stacks })
    }

    fn add(&mut self, span: &Span) -> io::Result<()> {
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
        self.durations.push(Duration { begin, end, label, thread })
    }

    /// Returns the category and the name of all durations, each once.
    pub fn frames(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.catalog().label_texts().zip(&self.labels);
        labels.filter(|(_, is_used)| **is_used).map(|(frame, _)| frame)
    }

    fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Visits the durations of a thread.
    fn walk(&self, thread: ThreadId, visitor: &mut impl Visitor) -> io::Result<()> {
        let mut open: Vec<Framed> = Vec::new();
        self.durations.each(thread, |duration| {
            let Duration { begin, mut end, label, .. } = *duration;
            while open.last().is_some_and(|last| last.end <= begin) {
                close(&mut open, visitor)?;
            }
            if let Some(around) = open.last_mut() {
                end = end.min(around.end);
                around.own = around.own.saturating_sub(end - begin);
            }
            let frame = Framed { label, begin, end, own: end - begin, depth: open.len() };
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

/// Returns the outermost frames of a thread: its process and itself, as the grouping says.
pub(crate) fn outer_frames(
    catalog: &Catalog,
    grouping: Grouping,
    koids: ThreadKoids,
) -> Vec<String> {
    let process = || named(koids.process, catalog.process_name(koids.process));
    match grouping {
        Grouping::Together => Vec::new(),
        Grouping::Process => vec![process()],
        Grouping::Thread => vec![process(), named(koids.thread, catalog.thread_name(koids))],
    }
}

/// Returns the frame of a process or thread.
fn named(koid: u64, name: &str) -> String {
    match name {
        "" => koid.to_string(),
        name => format!("{} ({koid})", frame_name(name)),
    }
}

fn close(open: &mut Vec<Framed>, visitor: &mut impl Visitor) -> io::Result<()> {
    open.pop().map_or(Ok(()), |frame| visitor.close(&frame))
}

#[cfg(test)]
mod tests;
