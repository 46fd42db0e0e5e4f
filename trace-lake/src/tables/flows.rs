//! Events of flows.

use super::common::{CATEGORY, ID, NAME, PID, PROCESS, PROCESS_ID, THREAD, THREAD_ID, TID, TIME};
use super::Table;
use crate::columns::{column, Kind};
use crate::source::{Events, Source};

pub(super) static TABLE: Table = Table {
    name: "flows",
    about: "A begin, a step or an end of a flow",
    columns: &[
        ID,
        column("flow_id", Kind::Unsigned, "the id of the flow"),
        column("phase", Kind::Text, "`begin`, `step` or `end`"),
        column("span_id", Kind::Int, "the id of the innermost span around it, or NULL"),
        CATEGORY,
        NAME,
        PID,
        TID,
        PROCESS,
        THREAD,
        PROCESS_ID,
        THREAD_ID,
        TIME,
        column("args", Kind::Args, "the arguments as text"),
    ],
    time: Some("time_ns"),
    source: Source::Events(Events { flows: true, ..Events::NONE }),
};

#[cfg(test)]
mod tests {
    use trace_format::EventKind;

    use crate::testing::{archive, complete, event, query};

    #[test]
    fn flow_events_have_the_span_around_them() {
        let bytes = archive(&[
            complete("send", 10, 20),
            event("f", 15, EventKind::FlowBegin { id: 3 }, &[]),
            complete("receive", 30, 40),
            event("f", 30, EventKind::FlowEnd { id: 3 }, &[]),
            event("f", 50, EventKind::FlowStep { id: 4 }, &[]),
        ]);
        let sql = "SELECT flow_id, phase, time_ns, s.name FROM flows \
            LEFT JOIN spans s ON span_id = s.id ORDER BY time_ns";
        assert_eq!(query(&bytes, sql), ["3|begin|15|send", "3|end|30|receive", "4|step|50|"]);
        let arrows = "SELECT o.name, i.name FROM flow JOIN slice o ON slice_out = o.id \
            JOIN slice i ON slice_in = i.id";
        assert_eq!(query(&bytes, arrows), ["send|receive"]);
    }
}
