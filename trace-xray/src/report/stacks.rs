//! The times of each call stack.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::map::Names;
use crate::record::FunctionId;

/// The most stacks. The times of further ones are not kept.
const MAX_STACKS: usize = 1 << 20;

/// The number of stacks in the lists of a text.
const TOP: usize = 10;

/// The place of a stack that is not kept.
pub(super) const NOT_KEPT: usize = usize::MAX;

/// The stacks of threads, each a node below that of its caller.
#[derive(Debug, Default)]
pub struct Stacks {
    nodes: Vec<Node>,
    places: HashMap<(Place, FunctionId), usize>,
}

/// The caller of a function, or the thread that starts with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Thread(i32),
    Caller(usize),
}

#[derive(Debug)]
struct Node {
    place: Place,
    function: FunctionId,
    count: u64,
    sum: u64,
    /// The count and sum of the calls that call no function.
    leaf: (u64, u64),
}

/// A call stack. Its frames are collected on request: those of all stacks would take memory that is
/// quadratic in the depth.
#[derive(Debug, Clone, Copy)]
pub struct Stack<'a> {
    stacks: &'a Stacks,
    node: &'a Node,
}

impl Stacks {
    /// Returns the node of a function that is entered.
    pub(super) fn enter(
        &mut self,
        thread: i32,
        caller: Option<usize>,
        function: FunctionId,
    ) -> usize {
        if caller == Some(NOT_KEPT) {
            return NOT_KEPT;
        }
        let place = caller.map_or(Place::Thread(thread), Place::Caller);
        if let Some(found) = self.places.get(&(place, function)) {
            return *found;
        }
        let next = self.nodes.len();
        if next >= MAX_STACKS {
            return NOT_KEPT;
        }
        self.nodes.push(Node { place, function, count: 0, sum: 0, leaf: (0, 0) });
        self.places.insert((place, function), next);
        next
    }

    /// Adds a call; returns whether its stack is kept.
    pub(super) fn add(&mut self, stack: usize, ticks: u64, is_leaf: bool) -> bool {
        let Some(node) = self.nodes.get_mut(stack) else { return false };
        node.count += 1;
        node.sum = node.sum.saturating_add(ticks);
        if is_leaf {
            let (count, sum) = node.leaf;
            node.leaf = (count + 1, sum.saturating_add(ticks));
        }
        true
    }

    /// Returns the caller of a stack's function, `Some(None)` for a thread's first function, and
    /// `None` if the stack is not kept.
    pub(super) fn caller(&self, stack: usize) -> Option<Option<FunctionId>> {
        match self.nodes.get(stack)?.place {
            Place::Caller(caller) => self.nodes.get(caller).map(|node| Some(node.function)),
            Place::Thread(_) => Some(None),
        }
    }

    /// Returns the functions of all stacks, each at least once.
    pub(super) fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.nodes.iter().map(|node| node.function)
    }

    /// Returns all stacks.
    pub fn iter(&self) -> impl Iterator<Item = Stack<'_>> + '_ {
        self.nodes.iter().map(|node| Stack { stacks: self, node })
    }

    /// Returns the stacks of each thread.
    #[must_use]
    pub fn by_thread(&self) -> BTreeMap<i32, Vec<Stack<'_>>> {
        let mut threads: BTreeMap<i32, Vec<Stack<'_>>> = BTreeMap::new();
        let mut thread_of = Vec::with_capacity(self.nodes.len());
        for stack in self.iter() {
            // A caller precedes its callees.
            let thread = match stack.node.place {
                Place::Thread(thread) => thread,
                Place::Caller(caller) => thread_of.get(caller).copied().unwrap_or(0),
            };
            thread_of.push(thread);
            threads.entry(thread).or_default().push(stack);
        }
        threads
    }

    /// Returns the stacks with those of all threads added.
    #[must_use]
    pub fn aggregated(&self) -> Self {
        let mut merged = Self::default();
        let mut places = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let caller = match node.place {
                Place::Caller(caller) => places.get(caller).copied(),
                Place::Thread(_) => None,
            };
            let place = merged.enter(0, caller, node.function);
            places.push(place);
            if let Some(merged) = merged.nodes.get_mut(place) {
                merged.count += node.count;
                merged.sum = merged.sum.saturating_add(node.sum);
                let (count, sum) = merged.leaf;
                merged.leaf = (count + node.leaf.0, sum.saturating_add(node.leaf.1));
            }
        }
        merged
    }
}

impl Stack<'_> {
    /// Returns the nodes of the functions, the outermost one first.
    fn frames(&self) -> Vec<&Node> {
        let caller = |node: &&Node| match node.place {
            Place::Caller(caller) => self.stacks.nodes.get(caller),
            Place::Thread(_) => None,
        };
        let mut frames: Vec<_> = std::iter::successors(Some(self.node), caller).collect();
        frames.reverse();
        frames
    }

    /// Returns one line for the tools of flame graphs: the names, and the count of calls or the sum
    /// of their ticks.
    #[must_use]
    pub fn folded(&self, thread: Option<i32>, names: &mut Names, is_count: bool) -> String {
        let mut line = thread.map_or(String::new(), |thread| format!("thread_{thread};"));
        for frame in self.frames() {
            line += &names.get(frame.function);
            line.push(';');
        }
        let value = if is_count { self.node.count } else { self.node.sum };
        line + &format!(" {value}")
    }
}

/// Returns the stacks with the largest sums and counts as text, in ticks.
#[must_use]
pub fn text(stacks: &[Stack<'_>], names: &mut Names) -> String {
    let mut leaves: Vec<_> = stacks.iter().filter(|stack| stack.node.leaf.0 > 0).collect();
    let mut text = format!("\nUnique Stacks: {}\n", leaves.len());
    leaves.sort_by_key(|stack| Reverse(stack.node.leaf.1));
    text += &top(&leaves, "sum", |stack| format!("Sum: {}", stack.node.leaf.1), names);
    leaves.sort_by_key(|stack| Reverse(stack.node.leaf.0));
    text += &top(&leaves, "count", |stack| format!("Count: {}", stack.node.leaf.0), names);
    text
}

fn top(
    stacks: &[&Stack<'_>],
    by: &str,
    head: impl Fn(&Stack<'_>) -> String,
    names: &mut Names,
) -> String {
    let mut text = format!("Top {TOP} Stacks by leaf {by}:\n\n");
    for stack in stacks.iter().take(TOP) {
        text += &format!(
            "{}\n{:<5} {:<60} {:>12} {:>16}\n",
            head(stack),
            "lvl",
            "function",
            "count",
            "sum"
        );
        for (level, Node { function, count, sum, .. }) in stack.frames().into_iter().enumerate() {
            let (level, name) = (format!("#{level}"), names.get(*function));
            text += &format!("{level:<5} {name:<60} {count:>12} {sum:>16}\n");
        }
        text.push('\n');
    }
    text
}
