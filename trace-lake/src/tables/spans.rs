//! Durations of threads.

use super::common::{CATEGORY, NAME, PID, PROCESS, PROCESS_ID, START, THREAD, THREAD_ID, TID};
use super::Table;
use crate::columns::{column, Kind};
use crate::source::{Events, Source};

pub(super) static TABLE: Table = Table {
    name: "spans",
    about: "A duration of a thread",
    columns: &[
        column("id", Kind::Int, "the number of its begin among the records of the archive"),
        column("parent_id", Kind::Int, "the id of the span around it, or NULL"),
        column("depth", Kind::Int, "the number of spans around it"),
        CATEGORY,
        NAME,
        PID,
        TID,
        PROCESS,
        THREAD,
        PROCESS_ID,
        THREAD_ID,
        column("track_id", Kind::Int, "the number of the thread's track"),
        START,
        column("dur_ns", Kind::Int, "the duration in nanoseconds, or NULL if it is open"),
        column("self_ns", Kind::Int, "the time in nanoseconds that no inner span takes"),
        column("cpu_ns", Kind::Int, "the time in nanoseconds on a processor, or NULL if unknown"),
        column("is_open", Kind::Bool, "whether the archive lacks its end"),
        column("role", Kind::Text, "`duration`, `poll` or `drop`: its part in an operation"),
        column("args", Kind::Args, "the arguments of begin and end as text"),
    ],
    time: Some("start_ns"),
    source: Source::Events(Events { spans: true, ..Events::NONE }),
};

#[cfg(test)]
mod tests {
    use trace_format::layout::ObjectType;
    use trace_format::{Argument, EventKind, Value};

    use crate::testing::{archive, complete, event, named, of_process, query};

    #[test]
    fn a_span_has_names_times_and_arguments() {
        let begin = [Argument::new("a", Value::Int32(-1)), Argument::new("b", Value::Bool(true))];
        let end = [Argument::new("a", Value::String("x".into()))];
        let process = of_process();
        let bytes = archive(&[
            event("outer", 100, EventKind::DurationBegin, &begin),
            complete("inner", 120, 150),
            event("outer", 200, EventKind::DurationEnd, &end),
            named(ObjectType::PROCESS, 12, "app", &[]),
            named(ObjectType::THREAD, 34, "main", &process),
        ]);
        let sql = "SELECT category, name, pid, tid, process, thread, start_ns, dur_ns, self_ns, \
            cpu_ns, is_open, args FROM spans ORDER BY start_ns";
        assert_eq!(
            query(&bytes, sql),
            [
                "cat|outer|12|34|app|main|100|100|70||false|{a: x, b: true}",
                "cat|inner|12|34|app|main|120|30|30||false|{}",
            ]
        );
        assert_eq!(query(&bytes, "SELECT count(*), sum(dur_ns) FROM spans"), ["2|130"]);
        assert_eq!(query(&bytes, "SELECT args['a'] FROM spans WHERE name = 'outer'"), ["x"]);
    }
}
