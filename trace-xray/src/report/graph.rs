//! The graph of callers and callees.

use std::collections::BTreeSet;

use trace_analyze::stats::Distribution;

use super::{exponent, percentile, seconds, Calls};
use crate::map::Names;
use crate::record::FunctionId;

/// The label of an edge or a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// No label.
    None,
    /// The number of calls.
    Count,
    /// The shortest call in seconds.
    Min,
    /// The median in seconds.
    Median,
    /// The 90th percentile in seconds.
    P90,
    /// The 99th percentile in seconds.
    P99,
    /// The longest call in seconds.
    Max,
    /// The sum of all calls in seconds.
    Sum,
}

impl Label {
    /// All labels, in the order of llvm-xray.
    pub const ALL: &'static [Self] = &[
        Self::None,
        Self::Count,
        Self::Min,
        Self::Median,
        Self::P90,
        Self::P99,
        Self::Max,
        Self::Sum,
    ];

    /// Returns the name that llvm-xray has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Count => "count",
            Self::Min => "min",
            Self::Median => "med",
            Self::P90 => "90p",
            Self::P99 => "99p",
            Self::Max => "max",
            Self::Sum => "sum",
        }
    }
}

/// The graph of callers and callees.
#[derive(Debug, Clone, Copy)]
pub struct Graph<'a> {
    calls: &'a Calls,
    edges: Label,
    vertices: Label,
}

impl<'a> Graph<'a> {
    /// Creates the graph of all calls.
    #[must_use]
    pub fn new(calls: &'a Calls, edges: Label, vertices: Label) -> Self {
        Self { calls, edges, vertices }
    }

    /// Returns the graph in the language of Graphviz. `F0` calls the outermost functions.
    #[must_use]
    pub fn dot(&self, names: &mut Names) -> String {
        let mut text = "digraph xray {\nnode [shape=record];\n".to_owned();
        // Also those whose calls have no end.
        let functions: BTreeSet<_> = self.calls.stacks().functions().collect();
        for ((caller, callee), times) in &self.calls.edges {
            let number = caller.map_or(0, FunctionId::number);
            let label = self.label(times, self.edges);
            text += &format!("F{number} -> F{} [label=\"{label}\"];\n", callee.number());
        }
        for function in functions {
            text += &self.vertex(function, &names.get(function));
        }
        text + "}\n"
    }

    fn vertex(&self, function: FunctionId, name: &str) -> String {
        let none = Distribution::default();
        let times = self.calls.functions.get(&function).unwrap_or(&none);
        let name = escaped(name);
        match self.vertices {
            Label::None => format!("F{} [label=\"{name}\"];\n", function.number()),
            label => {
                let label = self.label(times, label);
                format!("F{} [label=\"{{{name}|{label}}}\"];\n", function.number())
            }
        }
    }

    fn label(&self, times: &Distribution, label: Label) -> String {
        let ticks = match label {
            Label::None => return String::new(),
            Label::Count => return times.count().to_string(),
            Label::Min => times.min(),
            Label::Median => percentile(times, 50),
            Label::P90 => percentile(times, 90),
            Label::P99 => percentile(times, 99),
            Label::Max => times.max(),
            Label::Sum => times.sum(),
        };
        exponent(seconds(ticks, self.calls.rate()))
    }
}

/// Escapes the characters that have a meaning in the label of a record.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for character in name.chars() {
        if "\"\\{}|<>".contains(character) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}
