//! Folded stacks: the self time of each stack of names.

use std::cmp::Ordering;
use std::io;
use std::iter;

use super::{outer_frames, FrameNames, Framed, Stacks, Visitor};
use trace_analyze::catalog::{Catalog, DenseMap};
use trace_analyze::stats::Grouping;

/// The maximum depth of a stack. A line has the names of all frames, so that the output grows with
/// the square of the depth.
pub const MAX_DEPTH: usize = 1 << 10;

/// The frame of all deeper durations.
const DEEPER: &str = "…";

/// The self time of each stack.
#[derive(Debug, Default)]
pub struct Folded {
    names: Catalog,
    nodes: Vec<Node>,
    /// The index of each node, by its parent's index + 1 and its name.
    places: DenseMap<u32>,
    /// The number of durations deeper than [`MAX_DEPTH`]. Those of one stack are one frame `…`.
    pub deeper: u64,
}

/// The innermost frame of a stack.
#[derive(Debug)]
struct Node {
    around: Option<u32>,
    name: u32,
    /// The self time, in nanoseconds.
    own: u64,
}

impl Stacks {
    /// Returns the self time of each stack. With a grouping, stacks start with the process or
    /// thread.
    ///
    /// # Errors
    ///
    /// Reading a temporary file failed.
    pub fn folded(&self, grouping: Grouping) -> io::Result<Folded> {
        self.folded_with_names(grouping, &FrameNames::new(self.frames()))
    }

    /// Returns the same with the names of several archives, whose stacks are compared. `frames` has
    /// the [`frames`](Self::frames) of all of them.
    ///
    /// # Errors
    ///
    /// Reading a temporary file failed.
    pub fn folded_with_names(
        &self,
        grouping: Grouping,
        frames: &FrameNames<'_>,
    ) -> io::Result<Folded> {
        let mut folded = Folded::default();
        let labels = self.catalog().label_texts();
        let names = labels.map(|(category, name)| frames.text(category, name));
        let names: Vec<u32> = names.map(|name| folded.names.intern(name)).collect();
        for thread in &self.threads {
            let mut bottom = None;
            for name in outer_frames(self.catalog(), grouping, thread.koids) {
                let name = folded.names.intern(&name);
                bottom = Some(folded.within(bottom, name));
            }
            let mut climb = Climb { folded: &mut folded, names: &names, bottom, path: Vec::new() };
            self.walk(thread.thread, &mut climb)?;
        }
        Ok(folded)
    }
}

impl Folded {
    /// Returns each stack with its self time in nanoseconds, unless that is 0. Names are ordered
    /// from the outermost one on, separated by `;`.
    pub fn stacks(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.nodes.iter().filter(|node| node.own > 0).map(|node| (self.stack(node), node.own))
    }

    fn stack(&self, node: &Node) -> String {
        let around = |node: &&Node| self.nodes.get(node.around? as usize);
        let nodes = iter::successors(Some(node), around);
        let mut names: Vec<&str> = nodes.map(|node| self.names.string(node.name)).collect();
        names.reverse();
        names.join(";")
    }

    /// Returns the node of a name below a parent.
    fn within(&mut self, around: Option<u32>, name: u32) -> u32 {
        let key = around.map_or(0, |around| u64::from(around) + 1) << 32 | u64::from(name);
        let next = self.nodes.len() as u32;
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.nodes.push(Node { around, name, own: 0 });
        }
        place
    }
}

/// A visitor that adds self times to nodes.
struct Climb<'a> {
    folded: &'a mut Folded,
    /// The name of each label.
    names: &'a [u32],
    bottom: Option<u32>,
    path: Vec<u32>,
}

impl Visitor for Climb<'_> {
    fn open(&mut self, frame: &Framed) -> io::Result<()> {
        let around = self.path.last().copied().or(self.bottom);
        self.folded.deeper += u64::from(frame.depth >= MAX_DEPTH);
        let name = match frame.depth.cmp(&MAX_DEPTH) {
            Ordering::Less => self.names.get(frame.label.0 as usize).copied(),
            Ordering::Equal => Some(self.folded.names.intern(DEEPER)),
            Ordering::Greater => None,
        };
        let place = name.map(|name| self.folded.within(around, name)).or(around);
        self.path.extend(place);
        Ok(())
    }

    fn close(&mut self, frame: &Framed) -> io::Result<()> {
        let node = self.path.pop().and_then(|place| self.folded.nodes.get_mut(place as usize));
        if let Some(node) = node {
            node.own = node.own.saturating_add(frame.own);
        }
        Ok(())
    }
}
