//! Lanes of async operations, nested by parent.
//!
//! An operation and its descendants are a block: the operation is above its children. Blocks that
//! do not overlap in time share lanes. Each row has the blocks whose outermost operations have the
//! same category and name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use trace_analyze::catalog::LabelId;

use super::rows::{Identity, Lane, Slice};

#[cfg(test)]
mod tests;

/// An async operation of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) slice: Slice,
    pub(super) id: u64,
    /// The id in the argument `parent`.
    pub(super) parent: Option<u64>,
}

/// The lanes of a row, and the identities of the operations in each.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    pub(super) slices: Vec<Lane>,
    pub(super) identities: Vec<Vec<Identity>>,
}

/// The operations of a process in lanes.
#[derive(Debug, Default)]
pub(super) struct Forest {
    /// The lanes by the label of the outermost operations.
    pub(super) rows: BTreeMap<LabelId, Lanes>,
    /// The row of each id.
    pub(super) row_of_id: HashMap<u64, LabelId>,
}

/// An operation with its place in a tree.
#[derive(Debug, Clone, Copy)]
struct Node {
    operation: Operation,
    parent: Option<usize>,
    /// The label of the outermost operation.
    root: LabelId,
    depth: u32,
    /// The latest end of the operation and its descendants.
    end: u64,
    /// The number of lanes of the operation and its descendants.
    height: u32,
    /// The lane in the row.
    lane: u32,
    /// The distance to the lane of the parent, or the lane if there is no parent.
    offset: u32,
}

/// Arranges the operations of a process in lanes.
pub(super) fn forest(mut operations: Vec<Operation>) -> Forest {
    // A parent that begins at the time of its child comes first.
    operations.sort_by_key(|Operation { slice, parent, .. }| {
        (slice.begin, parent.is_some(), Reverse(slice.end), slice.order)
    });
    let mut nodes = nodes(&operations);
    pack(&mut nodes);
    let mut forest = Forest::default();
    for place in 0..nodes.len() {
        let above = nodes[place].parent.map_or(0, |parent| nodes[parent].lane);
        nodes[place].lane = above + nodes[place].offset;
        forest.add(&nodes[place]);
    }
    forest
}

impl Forest {
    fn add(&mut self, node: &Node) {
        let Node { operation: Operation { slice, id, .. }, lane, offset, depth, .. } = *node;
        let lanes = self.rows.entry(node.root).or_default();
        let lane = lane as usize;
        if lanes.slices.len() <= lane {
            lanes.slices.resize_with(lane + 1, Vec::new);
            lanes.identities.resize_with(lane + 1, Vec::new);
        }
        let above = if node.parent.is_some() { offset } else { 0 };
        lanes.slices[lane].push(slice);
        lanes.identities[lane].push(Identity { id, above, is_odd: depth % 2 == 1 });
        self.row_of_id.insert(id, node.root);
    }
}

/// Returns the nodes of operations. The place of a parent is lower than those of its children.
fn nodes(operations: &[Operation]) -> Vec<Node> {
    let mut latest: HashMap<u64, usize> = HashMap::new();
    let mut nodes: Vec<Node> = Vec::with_capacity(operations.len());
    for operation in operations {
        let named = operation.parent.and_then(|id| latest.get(&id)).copied();
        let parent = named.or_else(|| around(&nodes, operation, latest.get(&operation.id)));
        latest.insert(operation.id, nodes.len());
        let Slice { end, label, .. } = operation.slice;
        let (root, depth) = match parent.map(|parent| nodes[parent]) {
            Some(parent) => (parent.root, parent.depth + 1),
            None => (label, 0),
        };
        let operation = *operation;
        nodes.push(Node { operation, parent, root, depth, end, height: 1, lane: 0, offset: 0 });
    }
    nodes
}

/// Returns the innermost operation with the same id that lasts as long as `operation` or longer.
fn around(nodes: &[Node], operation: &Operation, latest: Option<&usize>) -> Option<usize> {
    let mut place = *latest?;
    loop {
        let outer = nodes.get(place).filter(|node| node.operation.id == operation.id)?;
        if outer.operation.slice.end >= operation.slice.end {
            return Some(place);
        }
        place = outer.parent?;
    }
}

/// Sets the ends, heights and offsets of all nodes.
fn pack(nodes: &mut [Node]) {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut roots: BTreeMap<LabelId, Vec<usize>> = BTreeMap::new();
    for (place, node) in nodes.iter().enumerate() {
        match node.parent {
            Some(parent) => children[parent].push(place),
            None => roots.entry(node.root).or_default().push(place),
        }
    }
    for place in (0..nodes.len()).rev() {
        let height = 1 + pack_siblings(nodes, &children[place], 1);
        let ends = children[place].iter().map(|child| nodes[*child].end);
        let end = ends.fold(nodes[place].end, u64::max);
        (nodes[place].height, nodes[place].end) = (height, end);
    }
    for roots in roots.values() {
        pack_siblings(nodes, roots, 0);
    }
}

/// Sets the offsets of blocks that are ordered by begin; returns the number of their lanes.
fn pack_siblings(nodes: &mut [Node], siblings: &[usize], first: u32) -> u32 {
    let mut slots = Slots::default();
    for place in siblings {
        let node = &mut nodes[*place];
        node.offset = first + slots.take(node.operation.slice.begin, node.end, node.height);
    }
    slots.lanes
}

/// Lanes, in slots of the heights of blocks.
#[derive(Debug, Default)]
struct Slots {
    lanes: u32,
    /// The first time at which a slot is free, its height and its first lane.
    taken: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// The first lanes of free slots, by height.
    free: HashMap<u32, BinaryHeap<Reverse<u32>>>,
}

impl Slots {
    /// Returns the first lane of the slot for a block. Blocks are ordered by begin.
    fn take(&mut self, begin: u64, end: u64, height: u32) -> u32 {
        while let Some(Reverse((_, height, lane))) =
            self.taken.peek().copied().filter(|Reverse((end, ..))| *end <= begin)
        {
            self.taken.pop();
            self.free.entry(height).or_default().push(Reverse(lane));
        }
        let free = self.free.get_mut(&height).and_then(BinaryHeap::pop);
        let lane = free.map_or(self.lanes, |Reverse(lane)| lane);
        self.lanes = self.lanes.max(lane + height);
        // The page finds a parent by time: blocks with children must not touch.
        let end = end.saturating_add((height > 1).into());
        self.taken.push(Reverse((end, height, lane)));
        lane
    }
}
