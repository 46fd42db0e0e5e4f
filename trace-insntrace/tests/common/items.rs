//! The items of a flow.

use trace_insntrace::flow::{FlowError, Item};

pub(crate) fn ips(items: &[Result<Item, FlowError>]) -> Vec<u64> {
    let ip = |item: &Result<Item, FlowError>| match item {
        Ok(Item::Instruction(instruction)) => Some(instruction.ip),
        _ => None,
    };
    items.iter().filter_map(ip).collect()
}
