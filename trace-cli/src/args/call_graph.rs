//! How the stacks of samples are found.

use trace_kernel::live::CallGraph;

/// The copied part of the stack, as `perf record` has it.
const STACK_BYTES: u32 = 8192;

/// The kernel copies less.
const MAX_STACK_BYTES: u32 = 65_528;

/// Parses `fp`, `dwarf` or `dwarf,BYTES`.
pub(crate) fn parse_call_graph(text: &str) -> Result<CallGraph, String> {
    match text {
        "fp" => return Ok(CallGraph::FramePointers),
        "dwarf" => return Ok(CallGraph::Dwarf { stack: STACK_BYTES }),
        _ => {}
    }
    let bytes = text.strip_prefix("dwarf,").and_then(|bytes| bytes.parse().ok());
    let stack = bytes.filter(|bytes| {
        let is_in_range = (8..MAX_STACK_BYTES).contains(bytes);
        is_in_range && bytes % 8 == 0
    });
    stack.map(|stack| CallGraph::Dwarf { stack }).ok_or_else(|| {
        format!(
            "'{text}' is not fp, dwarf, or dwarf,BYTES with a multiple of 8 below {MAX_STACK_BYTES}"
        )
    })
}

/// Returns the text that [`parse_call_graph`] parses.
pub(crate) fn call_graph_name(call_graph: CallGraph) -> String {
    match call_graph {
        CallGraph::FramePointers => "fp".to_owned(),
        CallGraph::Dwarf { stack } => format!("dwarf,{stack}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_find_stacks() {
        assert_eq!(parse_call_graph("fp"), Ok(CallGraph::FramePointers));
        assert_eq!(parse_call_graph("dwarf"), Ok(CallGraph::Dwarf { stack: 8192 }));
        assert_eq!(parse_call_graph("dwarf,65520"), Ok(CallGraph::Dwarf { stack: 65_520 }));
        for wrong in ["", "lbr", "dwarf,", "dwarf,0", "dwarf,12", "dwarf,65528", "dwarf,x"] {
            assert!(parse_call_graph(wrong).is_err(), "{wrong}");
        }
        for graph in [CallGraph::FramePointers, CallGraph::Dwarf { stack: 16 }] {
            assert_eq!(parse_call_graph(&call_graph_name(graph)), Ok(graph));
        }
    }
}
