//! Points in time.

use super::common::{CATEGORY, ID, NAME, PID, PROCESS, PROCESS_ID, THREAD, THREAD_ID, TID, TIME};
use super::Table;
use crate::columns::{column, Kind};
use crate::source::{Events, Source};

pub(super) static TABLE: Table = Table {
    name: "instants",
    about: "A point in time of a thread, a process, the archive or an async operation. Events of \
        the category `trace` are those of the tracing system",
    columns: &[
        ID,
        column("parent_id", Kind::Int, "the id of the span or operation around it, or NULL"),
        column("depth", Kind::Int, "the number of spans or operations around it"),
        CATEGORY,
        NAME,
        column("scope", Kind::Text, "`thread`, `process`, `global` or `operation`"),
        column("operation_id", Kind::Unsigned, "the operation of scope `operation`, or NULL"),
        PID,
        TID,
        PROCESS,
        THREAD,
        PROCESS_ID,
        THREAD_ID,
        column("track_id", Kind::Int, "the number of the track of the thread or operation"),
        TIME,
        column("args", Kind::Args, "the arguments as text"),
    ],
    time: Some("time_ns"),
    source: Source::Events(Events { instants: true, ..Events::NONE }),
};

#[cfg(test)]
mod tests {
    use trace_format::layout::InstantScope;
    use trace_format::EventKind;

    use crate::testing::{archive, event, query};

    #[test]
    fn instants_have_scopes_and_operations() {
        let bytes = archive(&[
            event("o", 5, EventKind::AsyncBegin { id: 7 }, &[]),
            event("a", 10, EventKind::Instant { scope: Some(InstantScope::Global) }, &[]),
            event("b", 20, EventKind::AsyncInstant { id: 7 }, &[]),
            event("o", 30, EventKind::AsyncEnd { id: 7 }, &[]),
        ]);
        let sql = "SELECT i.name, scope, i.operation_id, time_ns, i.depth, o.name, \
            i.track_id = o.track_id FROM instants i LEFT JOIN operations o ON i.parent_id = o.id \
            ORDER BY time_ns";
        assert_eq!(query(&bytes, sql), ["a|global||10|0||", "b|operation|7|20|1|o|true"]);
    }
}
