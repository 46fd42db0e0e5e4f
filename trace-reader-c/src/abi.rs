//! The structures of `trace_reader.h`, with the same fields.
#![forbid(unsafe_code)]

use std::ffi::c_char;
use std::ptr::null;

macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[allow(missing_docs, reason = "the header documents the fields")]
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct $name { $(pub $field: $type,)* }
    )*};
}

structures! {
    /// `struct trace_text`
    Text { data: *const c_char, size: usize, }
    /// `struct trace_bytes`
    Bytes { data: *const u8, size: usize, }
    /// `struct trace_time`
    Time { ticks: u64, nanoseconds: u64, }
    /// `struct trace_thread`
    Thread { process: u64, thread: u64, }
    /// `struct trace_provider`
    Provider { is_known: bool, id: u32, name: Text, ticks_per_second: u64, }
    /// `struct trace_argument`
    Argument { name: Text, kind: u32, value: Value, }
    /// `struct trace_table_record`
    Table { number: u64, kind: u32, text: Text, thread: Thread, }
    /// `struct trace_event_record`
    Event {
        kind: u32, scope: u32, time: Time, end: Time, thread: Thread, category: Text, name: Text,
        id: u64,
    }
    /// `struct trace_blob_record`
    Blob { kind: u32, name: Text, bytes: Bytes, }
    /// `struct trace_large_blob_record`
    LargeBlob {
        is_event: bool, time: Time, thread: Thread, category: Text, name: Text, bytes: Bytes,
    }
    /// `struct trace_object_record`
    Object { process: u64, id: u64, kind: u32, name: Text, }
    /// `struct trace_scheduling_record`
    Scheduling {
        time: Time, cpu: u32, outgoing_state: u32, outgoing: Thread, incoming: Thread,
        outgoing_priority: u32, incoming_priority: u32,
    }
    /// `struct trace_log_record`
    Log { time: Time, thread: Thread, message: Text, }
    /// `struct trace_module_record`
    Module {
        time: Time, process: u64, module_id: u32, flags: u32, name: Text, build_id: Bytes,
        start: u64, length: u64, module_address: u64,
    }
    /// `struct trace_backtrace_record`
    Backtrace { time: Time, thread: Thread, frames: *const u64, frame_count: usize, }
    /// `struct trace_unknown_record`
    Unknown { header: u64, payload: Bytes, }
    /// `struct trace_read_error`
    Error { code: u32, is_fatal: bool, offset: u64, message: *const c_char, }
    /// `struct trace_read_stats`
    Stats {
        records: u64, unknown_records: u64, bad_records: u64, unknown_string_refs: u64,
        unknown_thread_refs: u64,
    }
}

macro_rules! unions {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[allow(missing_docs, reason = "the header documents the fields")]
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub union $name { $(pub $field: $type,)* }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

unions! {
    /// The value of an argument.
    Value {
        int32: i32, uint32: u32, int64: i64, uint64: u64, number: f64, string: Text, boolean: bool,
        blob: Bytes,
    }
    /// The content that depends on the type of the record.
    Content {
        table: Table, event: Event, blob: Blob, large_blob: LargeBlob, object: Object,
        scheduling: Scheduling, log: Log, module: Module, backtrace: Backtrace, unknown: Unknown,
    }
}

/// `struct trace_record`
#[allow(missing_docs, reason = "the header documents the fields")]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Record {
    pub kind: u32,
    pub offset: u64,
    pub provider: *const Provider,
    pub arguments: *const Argument,
    pub argument_count: usize,
    pub content: Content,
}

impl Text {
    /// An empty text, which ends with a zero.
    pub const EMPTY: Self = Self { data: c"".as_ptr(), size: 0 };
}

impl Bytes {
    /// No bytes.
    pub const EMPTY: Self = Self { data: null(), size: 0 };
}

impl Time {
    /// No time.
    pub const NONE: Self = Self { ticks: 0, nanoseconds: 0 };
}

impl Thread {
    /// No thread.
    pub const NONE: Self = Self { process: 0, thread: 0 };
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), size: bytes.len() }
    }
}

impl From<trace_format::ThreadKoids> for Thread {
    fn from(koids: trace_format::ThreadKoids) -> Self {
        Self { process: koids.process, thread: koids.thread }
    }
}
