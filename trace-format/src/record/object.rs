//! Blobs, objects and logs.

use super::{Arguments, Process, Text, Thread};
use crate::layout::{BlobType, ObjectType};

/// Bulk data ("Blob Record"). Blobs of the same name are parts of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blob<'a> {
    /// The name.
    pub name: Text<'a>,
    /// The type of the payload.
    pub blob_type: BlobType,
    /// The payload, at most 32767 bytes. The record must not exceed
    /// [`MAX_RECORD_WORDS`](crate::layout::MAX_RECORD_WORDS):
    /// [`MAX_BLOB_BYTES`](crate::layout::MAX_BLOB_BYTES) fit beside a name of up to 752 bytes.
    pub payload: &'a [u8],
}

/// A label for a pointer ("Userspace Object Record").
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UserspaceObject<'a> {
    /// The pointer's process.
    pub process: Process,
    /// The pointer.
    pub pointer: u64,
    /// The object's name.
    pub name: Text<'a>,
    /// The arguments, at most 15.
    pub arguments: Arguments<'a>,
}

/// A label for a koid, such as the name of a process or thread ("Kernel Object Record").
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelObject<'a> {
    /// The object's type.
    pub object_type: ObjectType,
    /// The object's koid.
    pub koid: u64,
    /// The object's name.
    pub name: Text<'a>,
    /// The arguments, at most 15. By convention, a thread's argument `process` is the koid of its
    /// process.
    pub arguments: Arguments<'a>,
}

/// A log message ("Log Record").
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Log<'a> {
    /// The time, in ticks.
    pub ticks: u64,
    /// The thread that wrote the message.
    pub thread: Thread,
    /// The message. A correct provider writes UTF-8. [`encode`](crate::encode) cuts it to
    /// [`MAX_STRING_BYTES`](crate::layout::MAX_STRING_BYTES).
    pub message: &'a [u8],
}

/// Bulk data of up to 32 GiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LargeBlob<'a> {
    /// The category.
    pub category: Text<'a>,
    /// The name.
    pub name: Text<'a>,
    /// The time, thread and arguments, or `None` for an attachment.
    pub event: Option<LargeBlobEvent<'a>>,
    /// The payload.
    pub payload: &'a [u8],
}

/// The time, thread and arguments of a large blob.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LargeBlobEvent<'a> {
    /// The time, in ticks.
    pub ticks: u64,
    /// The thread.
    pub thread: Thread,
    /// The arguments, at most 15.
    pub arguments: Arguments<'a>,
}
