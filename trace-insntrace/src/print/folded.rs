//! Stacks with their number of instructions.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use super::{ticks, visit, Decoder, PrintError, Summary, Visitor, INLINED};
use crate::calls::{Calls, Change};
use crate::flow::{FlowError, Item};
use crate::recording::{Recording, Trace};
use crate::symbols::Symbols;

/// A stack, as a node of a tree.
#[derive(Debug)]
struct Node {
    parent: usize,
    instructions: u64,
    /// By name, and whether the call was inlined.
    children: BTreeMap<(Arc<str>, bool), usize>,
}

struct Stacks<'s, 'a> {
    calls: Calls<'s, 'a>,
    nodes: Vec<Node>,
    current: usize,
}

pub(super) fn write(
    recording: &Recording,
    chosen: &[Trace],
    symbols: &mut Symbols<'_>,
    mut out: impl Write,
) -> Result<Summary, PrintError> {
    let mut summary = Summary::default();
    for trace in chosen {
        let root = Node { parent: 0, instructions: 0, children: BTreeMap::new() };
        let mut stacks = Stacks { calls: Calls::new(symbols), nodes: vec![root], current: 0 };
        visit(recording, trace, &mut summary, &mut stacks)?;
        let name = format!("{} {}", trace.name.replace([';', '\n'], " "), trace.tid);
        stacks.print(0, &name, &mut out)?;
    }
    out.flush().map_err(PrintError::Output)?;
    Ok(summary)
}

impl Stacks<'_, '_> {
    fn apply(&mut self, change: &Change) {
        let Some(node) = self.nodes.get_mut(self.current) else { return };
        let Some(name) = &change.enter else {
            self.current = node.parent;
            return;
        };
        let key = (Arc::clone(name), change.is_inlined);
        if let Some(child) = node.children.get(&key) {
            self.current = *child;
            return;
        }
        let (parent, child) = (self.current, self.nodes.len());
        if let Some(node) = self.nodes.get_mut(parent) {
            node.children.insert(key, child);
        }
        self.nodes.push(Node { parent, instructions: 0, children: BTreeMap::new() });
        self.current = child;
    }

    fn print(&self, at: usize, stack: &str, out: &mut impl Write) -> Result<(), PrintError> {
        let mut pending = vec![(at, stack.to_owned())];
        while let Some((at, stack)) = pending.pop() {
            let Some(node) = self.nodes.get(at) else { continue };
            if node.instructions > 0 {
                writeln!(out, "{stack} {}", node.instructions).map_err(PrintError::Output)?;
            }
            for ((name, is_inlined), child) in node.children.iter().rev() {
                let name = name.replace([';', '\n'], " ");
                let suffix = if *is_inlined { INLINED } else { "" };
                pending.push((*child, format!("{stack};{name}{suffix}")));
            }
        }
        Ok(())
    }
}

impl Visitor for Stacks<'_, '_> {
    fn item(&mut self, decoder: &Decoder<'_>, item: &Item) -> Result<(), PrintError> {
        let changes =
            self.calls.item(decoder.space(), decoder.notes(), item, ticks(decoder)).to_vec();
        changes.iter().for_each(|change| self.apply(change));
        if let (Item::Instruction(_), Some(node)) = (item, self.nodes.get_mut(self.current)) {
            node.instructions += 1;
        }
        Ok(())
    }

    fn error(&mut self, decoder: &Decoder<'_>, _: &FlowError) -> Result<(), PrintError> {
        self.calls.end(ticks(decoder));
        self.current = 0;
        Ok(())
    }
}
