//! Comma-separated values (RFC 4180): cells, and the events of an archive.
//!
//! [`Rows`] has a line for each duration, async operation, flow, instant, counter value and log
//! record:
//!
//! | column | value |
//! |---|---|
//! | `process`, `process_name` | where it begins |
//! | `thread`, `thread_name` | where it begins |
//! | `category`, `name` | empty for log records |
//! | `depth` | the number of durations around a duration |
//! | `begin_ns` | the time, in nanoseconds of the provider's clock |
//! | `duration_ns` | the length of a duration, operation or flow |
//! | `self_ns` | the time of a duration that no inner duration takes |
//! | `kind` | see below |
//! | `id` | the id of an operation, a flow or a counter |
//! | `arguments` | the arguments of its events as a JSON object, empty if it has none |
//! | `message` | the text of a log record |
//!
//! The kinds are `duration`, `poll`, `drop`, `async`, `async-instant`, `flow`, `flow-step`,
//! `instant`, `counter` and `log`. Ids of operations in arguments are texts as in the column `id`.
//!
//! Events that the writer of an archive adds, such as clock anchors, have no line. A cell without a
//! value is empty. Several arguments of one name are an array. Lines are sorted by process,
//! thread, provider and begin. Rows wait in a temporary file if they are larger than 2 MiB, and
//! arguments whose duration is not complete if they are larger than 2 MiB.

mod arguments;
mod cell;
mod collect;
mod kind;
mod row;
mod rows;
mod table;
mod texts;

pub use cell::cell;
pub use rows::Rows;
