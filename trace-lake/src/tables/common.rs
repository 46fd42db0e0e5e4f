//! Columns that several tables have.

use crate::columns::{column, Column, Kind};

pub(super) const ID: Column = column("id", Kind::Int, "the number of its record");
pub(super) const CATEGORY: Column = column("category", Kind::Text, "the category");
pub(super) const NAME: Column = column("name", Kind::Text, "the name");
pub(super) const PID: Column = column("pid", Kind::Unsigned, "the process, as Linux numbers it");
pub(super) const TID: Column = column("tid", Kind::Unsigned, "the thread, as Linux numbers it");
pub(super) const PROCESS: Column =
    column("process", Kind::Text, "the name of the process, or NULL");
pub(super) const THREAD: Column = column("thread", Kind::Text, "the name of the thread, or NULL");
pub(super) const PROCESS_ID: Column = column("process_id", Kind::Int, "processes.id");
pub(super) const THREAD_ID: Column = column("thread_id", Kind::Int, "threads.id");
pub(super) const TIME: Column = column("time_ns", Kind::Int, "the time in nanoseconds");
pub(super) const START: Column = column("start_ns", Kind::Int, "the begin in nanoseconds");
