//! Changes as JSON.

use serde_json::{json, Value};

use super::Change;
use crate::stats::Distribution;

impl Change {
    /// Returns the change as a JSON object, for programs; times are in
    /// nanoseconds.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.as_str(),
            "category": self.category,
            "name": self.name,
            "verdict": self.verdict.as_str(),
            "change": self.change,
            "p": self.p,
            "cost_ns": self.cost(),
            "before": side(&self.before),
            "after": side(&self.after),
        })
    }
}

fn side(lengths: &Distribution) -> Value {
    json!({
        "count": lengths.count(),
        "total_ns": lengths.sum(),
        "mean_ns": lengths.mean(),
        "p50_ns": lengths.quantile(0.5),
        "p99_ns": lengths.quantile(0.99),
    })
}
