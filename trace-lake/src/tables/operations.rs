//! Async operations.

use super::common::{CATEGORY, NAME, PROCESS, PROCESS_ID, START, THREAD, THREAD_ID};
use super::Table;
use crate::columns::{column, Kind};
use crate::source::{Events, Source};

pub(super) static TABLE: Table = Table {
    name: "operations",
    about: "An async operation, which can begin and end on different threads",
    columns: &[
        column("id", Kind::Int, "the number of its begin among the records of the archive"),
        column("operation_id", Kind::Unsigned, "the id that the program gave it"),
        column(
            "parent_id",
            Kind::Int,
            "the id of the operation of the same operation_id around it",
        ),
        column("depth", Kind::Int, "the number of operations of the same operation_id around it"),
        CATEGORY,
        NAME,
        column("pid", Kind::Unsigned, "the process of its begin, as Linux numbers it"),
        column("tid", Kind::Unsigned, "the thread of its begin, as Linux numbers it"),
        PROCESS,
        THREAD,
        PROCESS_ID,
        THREAD_ID,
        column("track_id", Kind::Int, "the number of the track of its operation_id"),
        START,
        column("dur_ns", Kind::Int, "the duration in nanoseconds, or NULL if it is open"),
        column("is_open", Kind::Bool, "whether the archive lacks its end"),
        column("args", Kind::Args, "the arguments of begin and end as text"),
    ],
    time: Some("start_ns"),
    source: Source::Events(Events { operations: true, ..Events::NONE }),
};

#[cfg(test)]
mod tests {
    use trace_format::{Argument, EventKind, Value};

    use crate::testing::{archive, event, query};

    #[test]
    fn begins_and_ends_of_one_id_are_an_operation() {
        let parent = [Argument::new("parent", Value::Uint64(7))];
        let bytes = archive(&[
            event("a", 10, EventKind::AsyncBegin { id: 7 }, &[]),
            event("b", 15, EventKind::AsyncBegin { id: 8 }, &parent),
            event("b", 20, EventKind::AsyncEnd { id: 8 }, &[]),
            event("c", 25, EventKind::AsyncBegin { id: 7 }, &[]),
            event("c", 26, EventKind::AsyncEnd { id: 7 }, &[]),
            event("a", 30, EventKind::AsyncEnd { id: 7 }, &[]),
            event("open", 40, EventKind::AsyncBegin { id: 9 }, &[]),
        ]);
        let sql = "SELECT name, operation_id, start_ns, dur_ns, is_open, depth, args \
            FROM operations ORDER BY start_ns";
        assert_eq!(
            query(&bytes, sql),
            [
                "a|7|10|20|false|0|{}",
                "b|8|15|5|false|0|{parent: 7}",
                "c|7|25|1|false|1|{}",
                "open|9|40||true|0|{}",
            ]
        );
    }
}
