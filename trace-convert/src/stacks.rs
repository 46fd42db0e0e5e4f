//! Which durations were inside which: folded stacks, speedscope, CSV.
//!
//! | output             | what it is                                                     |
//! |--------------------|----------------------------------------------------------------|
//! | [`Stacks::folded`] | a line for each stack: names from the outermost on with `;` between, then the nanoseconds spent in it and in nothing within it |
//! | [`Stacks::speedscope`] | the JSON of <https://www.speedscope.app>, a profile for each thread |
//! | [`Stacks::csv`]    | a line for each duration                                       |
//!
//! A duration that reaches over the end of the one it began in counts up to
//! there, since a stack knows nothing else. Memory grows by 24 bytes for each
//! duration.

mod output;

use std::collections::BTreeMap;
use std::io::Read;

use trace_format::{Reader, ThreadKoids};

use crate::catalog::{Catalog, DenseMap, LabelId};
use crate::spans::{Oddities, Span, Spans};
use crate::stats::Grouping;
use crate::{ConvertError, Damage};

/// The durations of an archive, by thread.
#[derive(Debug, Default)]
pub struct Stacks {
    spans: Spans,
    threads: Vec<ThreadStack>,
    /// What of the durations did not fit together.
    pub oddities: Oddities,
    /// What is missing in the archive.
    pub damage: Damage,
}

/// The durations of one thread, in the order of time, outer ones first.
#[derive(Debug)]
struct ThreadStack {
    koids: ThreadKoids,
    durations: Vec<Duration>,
}

/// A duration, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Duration {
    begin: u64,
    end: u64,
    label: LabelId,
}

/// A duration in its place.
#[derive(Debug, Clone, Copy)]
struct Framed {
    label: LabelId,
    begin: u64,
    /// Its end, or that of what is around it.
    end: u64,
    /// How much of it nothing within it takes.
    own: u64,
    /// How many are around it.
    depth: usize,
}

/// What a walk over the durations of a thread meets.
trait Visitor {
    fn open(&mut self, frame: &Framed);
    /// `frame` has its own time now.
    fn close(&mut self, frame: &Framed);
}

impl Stacks {
    /// Reads all durations of an archive.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(reader: Reader<R>) -> Result<Self, ConvertError> {
        let mut spans = Spans::default();
        let mut threads: Vec<ThreadStack> = Vec::new();
        let damage = Damage::of_all(reader, |item| {
            spans.record(item, &mut |span| add(&mut threads, &span));
        })?;
        let oddities = spans.finish(&mut |span| add(&mut threads, &span));
        for thread in &mut threads {
            thread
                .durations
                .sort_by_key(|duration| (duration.begin, std::cmp::Reverse(duration.end)));
        }
        threads.retain(|thread| !thread.durations.is_empty());
        threads.sort_by_key(|thread| thread.koids);
        Ok(Self { spans, threads, oddities, damage })
    }

    fn catalog(&self) -> &Catalog {
        self.spans.catalog()
    }

    /// Returns the time spent in each stack, in nanoseconds, without what is
    /// spent within it. Names are from the outermost on, with `;` between; with
    /// a grouping, process or thread come first.
    #[must_use]
    pub fn folded(&self, grouping: Grouping) -> BTreeMap<String, u64> {
        let mut folded = BTreeMap::new();
        for thread in &self.threads {
            let mut tree = Tree::default();
            thread.walk(&mut tree);
            let prefix = self.prefix(grouping, thread.koids);
            tree.fold(self.catalog(), &prefix, &mut folded);
        }
        folded
    }

    fn prefix(&self, grouping: Grouping, koids: ThreadKoids) -> String {
        let process = || named(koids.process, self.catalog().process_name(koids.process));
        match grouping {
            Grouping::Together => String::new(),
            Grouping::Process => process(),
            Grouping::Thread => {
                format!("{};{}", process(), named(koids.thread, self.catalog().thread_name(koids)))
            }
        }
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

fn add(threads: &mut Vec<ThreadStack>, span: &Span) {
    let place = span.thread.place();
    while threads.len() <= place {
        threads.push(ThreadStack { koids: ThreadKoids::UNKNOWN, durations: Vec::new() });
    }
    if let Some(thread) = threads.get_mut(place) {
        thread.koids = span.koids;
        let (begin, end) = (span.rate.to_nanos(span.begin), span.rate.to_nanos(span.end));
        thread.durations.push(Duration { begin, end, label: span.label });
    }
}

impl ThreadStack {
    fn walk(&self, visitor: &mut impl Visitor) {
        let mut open: Vec<Framed> = Vec::new();
        for Duration { begin, end, label } in self.durations.iter().copied() {
            while open.last().is_some_and(|last| last.end <= begin) {
                close(&mut open, visitor);
            }
            let mut end = end;
            if let Some(around) = open.last_mut() {
                end = end.min(around.end);
                around.own = around.own.saturating_sub(end - begin);
            }
            let frame = Framed { label, begin, end, own: end - begin, depth: open.len() };
            visitor.open(&frame);
            open.push(frame);
        }
        while !open.is_empty() {
            close(&mut open, visitor);
        }
    }
}

fn close(open: &mut Vec<Framed>, visitor: &mut impl Visitor) {
    if let Some(frame) = open.pop() {
        visitor.close(&frame);
    }
}

/// Stacks that begin alike, together.
#[derive(Debug, Default)]
struct Tree {
    nodes: Vec<Node>,
    /// By the parent's place, counted from 1, and the label.
    places: DenseMap<u32>,
    path: Vec<u32>,
}

#[derive(Debug)]
struct Node {
    parent: Option<u32>,
    label: LabelId,
    own: u64,
}

impl Visitor for Tree {
    fn open(&mut self, frame: &Framed) {
        let parent = self.path.last().copied();
        let key = parent.map_or(0, |parent| u64::from(parent) + 1) << 32 | u64::from(frame.label.0);
        let next = self.nodes.len() as u32;
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.nodes.push(Node { parent, label: frame.label, own: 0 });
        }
        self.path.push(place);
    }

    fn close(&mut self, frame: &Framed) {
        let node = self.path.pop().and_then(|place| self.nodes.get_mut(place as usize));
        if let Some(node) = node {
            node.own = node.own.saturating_add(frame.own);
        }
    }
}

impl Tree {
    fn fold(&self, catalog: &Catalog, prefix: &str, folded: &mut BTreeMap<String, u64>) {
        let mut stacks: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            // A parent comes before what is in it.
            let around = node.parent.and_then(|parent| stacks.get(parent as usize));
            let around = around.map_or(prefix, |around| around);
            let name = frame_name(catalog.name(node.label));
            let stack = if around.is_empty() { name } else { format!("{around};{name}") };
            if node.own > 0 {
                let sum = folded.entry(stack.clone()).or_insert(0u64);
                *sum = sum.saturating_add(node.own);
            }
            stacks.push(stack);
        }
    }
}

#[cfg(test)]
mod tests;
