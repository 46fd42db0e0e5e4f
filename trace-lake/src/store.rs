//! Stores of many archives: Parquet files in a folder or an object storage.
//!
//! ```text
//! STORE/log/00000000000000000007.json                             the changes, numbered
//! STORE/spans/day=2026-11-29/host=web-1/service=shop/NAME.parquet  rows of one or more archives
//! STORE/counters/day=…
//! ```
//!
//! Files never change. A [change](log) names the files that it adds and removes, so an archive with
//! all its tables appears at once, and so does the result of a compaction. Each change has the next
//! number, which only one writer can create; the others read it and try the next one. Writers need
//! no lock, and a writer that dies before its change leaves files that no reader opens.
//!
//! - [`place`] opens a store by its path or URL.
//! - [`state`] has the archives and files of a store.
//! - [`log`] reads and writes changes.
//! - `table` reads the files of a table, without those that a query does not need (`prune`).
//! - `check` finds damaged files after a query has failed.
//! - [`snapshot`] is the state that the queries of a session see.
//! - [`named`] is a snapshot on another machine, which is read when a function needs it.
//! - `url` names a store in plans.
//! - `writer` writes the files, and `reader` reads them.
//! - `verify` compares a whole file with what its change records.

pub(crate) mod check;
pub mod log;
pub mod named;
pub(crate) mod names;
pub mod place;
mod prune;
pub(crate) mod reader;
pub mod snapshot;
pub mod state;
pub(crate) mod table;
pub(crate) mod url;
pub(crate) mod verify;
pub(crate) mod writer;

pub use place::Store;
pub use table::{FILE_COLUMNS, FOLDER_COLUMNS};
