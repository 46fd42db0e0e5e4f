//! Statistics as JSON.

use serde_json::{json, Map, Value};

use super::{CounterRow, Group, Report, Row, PERCENTILES};
use crate::exact;

impl Report {
    /// Returns the report as a JSON object, for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "durations": self.durations.iter().map(duration).collect::<Vec<_>>(),
            "async": self.operations.iter().map(lengths).collect::<Vec<_>>(),
            "flows": self.flows.iter().map(lengths).collect::<Vec<_>>(),
            "counters": self.counters.iter().map(counter).collect::<Vec<_>>(),
            "counter_values_left_out": self.counter_values_left_out,
            "other_values": self.other_values,
            "values_left_out": self.values_left_out,
            "names_left_out": self.joined.len(),
            "partly_scheduled": self.partly_scheduled,
            "instants": self.instants.iter().map(instant).collect::<Vec<_>>(),
            "complete": self.damage.is_none(),
            "records_dropped": self.damage.records_dropped,
            "buffers_full": self.damage.buffers_full,
            "bad_records": self.damage.stats.bad_records,
            "unknown_strings": self.damage.audit.unknown_strings,
            "unknown_threads": self.damage.audit.unknown_threads,
            "cut": self.damage.cut.as_ref().map(ToString::to_string),
            "begins_without_end": self.oddities.begins_without_end,
            "ends_without_begin": self.oddities.ends_without_begin,
            "reversed_durations": self.oddities.reversed,
            "misplaced_durations": self.oddities.misplaced,
            "async_without_end": self.unpaired_operations.begins,
            "async_without_begin": self.unpaired_operations.ends,
            "flows_without_end": self.unpaired_flows.begins,
            "flows_without_begin": self.unpaired_flows.ends,
        })
    }
}

fn names(category: &str, name: &str, group: Option<&Group>) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("category".to_owned(), category.into());
    object.insert("name".to_owned(), name.into());
    if let Some(value) = group.and_then(|group| group.value.as_ref()) {
        object.insert("value".to_owned(), value.known().into());
    } else if let Some(group) = group {
        object.insert("process".to_owned(), exact(group.koids.process));
        object.insert("process_name".to_owned(), group.process_name.as_str().into());
        if group.koids.thread != 0 {
            object.insert("thread".to_owned(), exact(group.koids.thread));
            object.insert("thread_name".to_owned(), group.thread_name.as_str().into());
        }
    }
    object
}

fn instant(row: &Row) -> Value {
    let mut object = names(&row.category, &row.name, row.group.as_ref());
    object.insert("count".to_owned(), row.lengths.count().into());
    object.into()
}

fn duration(row: &Row) -> Value {
    let mut object = lengths_object(row);
    object.insert("self_ns".to_owned(), row.self_nanos.into());
    object.insert("role".to_owned(), row.role.as_str().into());
    object.insert("on_cpu_ns".to_owned(), row.on_cpu_nanos.into());
    object.into()
}

fn lengths(row: &Row) -> Value {
    lengths_object(row).into()
}

fn lengths_object(row: &Row) -> Map<String, Value> {
    let mut object = names(&row.category, &row.name, row.group.as_ref());
    let lengths = &row.lengths;
    let mut put = |key: &str, value: u64| object.insert(key.to_owned(), value.into());
    put("count", lengths.count());
    put("total_ns", lengths.sum());
    put("mean_ns", lengths.mean());
    put("min_ns", lengths.min());
    for (name, quantile) in PERCENTILES {
        put(&format!("{name}_ns"), lengths.quantile(quantile));
    }
    put("max_ns", lengths.max());
    object
}

fn counter(row: &CounterRow) -> Value {
    let mut object = names(&row.category, &row.name, row.group.as_ref());
    object.insert("id".to_owned(), exact(row.id));
    object.insert("series".to_owned(), row.series.as_str().into());
    object.insert("count".to_owned(), row.count.into());
    for (key, value) in [
        ("first", row.first),
        ("last", row.last),
        ("min", row.min),
        ("max", row.max),
        ("mean", row.mean),
    ] {
        object.insert(key.to_owned(), value.into());
    }
    object.into()
}
