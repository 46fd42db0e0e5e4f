//! Changes as JSON.

use serde_json::{json, Value};

use super::{Change, Effect};
use crate::stats::{Distribution, GroupValue};

impl Change {
    /// Returns the change as a JSON object, for programs; times are in nanoseconds, changes are
    /// shares.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.as_str(),
            "category": self.category,
            "name": self.name,
            "value": self.value.as_ref().and_then(GroupValue::known),
            "verdict": self.verdict.as_str(),
            "change": self.median.map(|effect| effect.change),
            "interval": self.median.map(interval),
            "p50_difference_ns": self.difference(0.5),
            "p": self.p,
            "p99_change": self.p99.map(|effect| effect.change),
            "p99_interval": self.p99.map(interval),
            "p99_difference_ns": self.difference(0.99),
            "runs_needed": self.runs_needed,
            "cost_ns": self.cost(),
            "before": side(&self.before),
            "after": side(&self.after),
        })
    }
}

fn interval(effect: Effect) -> [f64; 2] {
    [effect.low, effect.high]
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
