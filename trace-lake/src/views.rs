//! The tables of Perfetto's trace processor as views, with its names and columns.
//!
//! Columns that an archive has no data for are missing, unless queries name them often: those are
//! NULL. Numbers (`utid`, `upid`, `track_id`, `id`) join the views with each other; they are not
//! the numbers that Perfetto gives.

/// A view.
#[derive(Debug)]
pub struct View {
    /// Its name.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// The statement that creates it.
    pub sql: &'static str,
}

macro_rules! views {
    ($($name:ident: $about:literal,)*) => {
        /// All views, each after those that it reads.
        pub const VIEWS: &[View] = &[$(View {
            name: stringify!($name),
            about: $about,
            sql: include_str!(concat!("views/", stringify!($name), ".sql")),
        }),*];
    };
}

views! {
    process: "A process",
    thread: "A thread",
    slice: "A span, an instant, or an async operation",
    slices: "The same as slice",
    thread_track: "The track of a thread",
    process_track: "The track of the async operations of an id",
    counter_track: "The track of a series of a counter",
    process_counter_track: "The same, with its process",
    cpu_counter_track: "A track of a counter of a processor; archives have none",
    track: "All tracks",
    counter: "A value of a counter",
    args: "An argument",
    flow: "An arrow from a slice to another one",
    sched_slice: "A turn of a thread on a processor",
    sched: "The same as sched_slice, with its end",
    thread_state: "The state of a thread, from scheduling records",
    cpu: "A processor that has scheduling records",
    trace_bounds: "The times of the first and the last record",
    stats: "Counts of missing and malformed records",
    thread_slice: "slice with its thread and process",
    process_slice: "slice of async operations with its process",
    thread_or_process_slice: "Both",
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, EventKind, Value};

    use crate::testing::{archive, event, query};

    #[test]
    fn columns_without_data_are_null() {
        let bytes = archive(&[event("i", 1, EventKind::Instant { scope: None }, &[])]);
        for (columns, view) in [
            ("cmdline, start_ts, end_ts, parent_upid, uid, arg_set_id", "process"),
            ("start_ts, end_ts", "thread"),
            ("type, stack_id, parent_stack_id", "slice"),
        ] {
            let found = query(&bytes, &format!("SELECT {columns} FROM {view}"));
            assert_eq!(found, ["|".repeat(columns.matches(',').count())], "{view}");
        }
        for (columns, view) in [
            ("io_wait, blocked_function, waker_id, irq_context, ucpu", "thread_state"),
            ("description", "counter_track"),
            ("description", "process_counter_track"),
            ("description", "cpu_counter_track"),
            ("ts_end", "sched"),
            ("slice_id", "process_slice"),
        ] {
            assert!(query(&bytes, &format!("SELECT {columns} FROM {view}")).is_empty(), "{view}");
        }
        let sql = "SELECT id = slice_id FROM thread_slice";
        assert_eq!(query(&bytes, sql), ["true"]);
    }

    #[test]
    fn arguments_have_the_types_and_texts_of_perfetto() {
        let values = [
            ("int", Value::Int32(-5)),
            ("uint", Value::Uint64(u64::MAX)),
            ("koid", Value::Koid(u64::MAX)),
            ("pointer", Value::Pointer(0x1f)),
            ("bool", Value::Bool(true)),
            ("null", Value::Null),
        ];
        let arguments = values.map(|(name, value)| Argument::new(name, value));
        let bytes = archive(&[event("i", 1, EventKind::Instant { scope: None }, &arguments)]);
        let sql = "SELECT key, value_type, int_value, display_value FROM args";
        let expected = [
            "int|int|-5|-5",
            "uint|int|-1|-1",
            "koid|int|-1|-1",
            "pointer|pointer|31|0x1f",
            "bool|bool|1|true",
            "null|string||null",
        ];
        assert_eq!(query(&bytes, sql), expected);
    }
}
