//! Folded stacks: the time spent in each stack of names.

use std::cmp::Ordering;
use std::io;
use std::iter;

use trace_format::ThreadKoids;

use super::{frame_name, named, Framed, Stacks, Visitor};
use trace_analyze::catalog::{Catalog, DenseMap, LabelId};
use trace_analyze::stats::Grouping;

/// The most durations within one another that a stack has. A line has the names
/// of all that is around it, so what is n deep takes n * n of them.
pub const MAX_DEPTH: usize = 1 << 10;

/// What stands for all that is deeper.
const DEEPER: &str = "…";

/// The time spent in each stack.
#[derive(Debug, Default)]
pub struct Folded {
    names: Catalog,
    nodes: Vec<Node>,
    /// Places by the one around, counted from 1, and the name.
    places: DenseMap<u32>,
    /// How many durations were deeper than [`MAX_DEPTH`]; all that are so in one
    /// stack count as `…` within it.
    pub deeper: u64,
}

/// The innermost frame of a stack.
#[derive(Debug)]
struct Node {
    around: Option<u32>,
    name: u32,
    /// The time spent in it and in nothing within it.
    own: u64,
}

impl Stacks {
    /// Returns the time spent in each stack; with a grouping, process or thread
    /// come first.
    ///
    /// # Errors
    ///
    /// Reading a temporary file failed.
    pub fn folded(&self, grouping: Grouping) -> io::Result<Folded> {
        let mut folded = Folded::default();
        let labels = (0..self.labels.len() as u32).map(LabelId);
        let names: Vec<String> =
            labels.map(|label| frame_name(self.catalog().name(label))).collect();
        let names: Vec<u32> = names.iter().map(|name| folded.names.intern(name)).collect();
        for thread in &self.threads {
            let mut bottom = None;
            for name in self.bottom(grouping, thread.koids) {
                let name = folded.names.intern(&name);
                bottom = Some(folded.within(bottom, name));
            }
            let mut climb = Climb { folded: &mut folded, names: &names, bottom, path: Vec::new() };
            self.walk(thread.thread, &mut climb)?;
        }
        Ok(folded)
    }

    /// Returns the frames that are around all of a thread.
    fn bottom(&self, grouping: Grouping, koids: ThreadKoids) -> Vec<String> {
        let process = || named(koids.process, self.catalog().process_name(koids.process));
        let thread = || named(koids.thread, self.catalog().thread_name(koids));
        match grouping {
            Grouping::Together => Vec::new(),
            Grouping::Process => vec![process()],
            Grouping::Thread => vec![process(), thread()],
        }
    }
}

impl Folded {
    /// Returns all stacks that time was spent in, and how many nanoseconds, not
    /// counting what is within them. Names are from the outermost on, with `;`
    /// between.
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

    /// Returns the place of a name within what is around it.
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

/// The way up and down the stacks of a thread.
struct Climb<'a> {
    folded: &'a mut Folded,
    /// The names of labels.
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
