//! Records of objects, logs and blobs.

use super::{Arguments, Process, Text, Thread};
use crate::layout::{BlobType, ObjectType};

/// Bulk data; blobs with the same name are pieces of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Blob<'a> {
    /// The name.
    pub name: Text<'a>,
    /// What the bytes are.
    pub blob_type: BlobType,
    /// The bytes: any number up to [`MAX_BLOB_BYTES`](crate::layout::MAX_BLOB_BYTES)
    /// fits a record.
    pub payload: &'a [u8],
}

/// A label for a pointer of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UserspaceObject<'a> {
    /// The process the pointer is of.
    pub process: Process,
    /// The pointer.
    pub pointer: u64,
    /// The object's name.
    pub name: Text<'a>,
    /// More about it, at most 15.
    pub arguments: Arguments<'a>,
}

/// A label for a koid, such as the name of a process or thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelObject<'a> {
    /// What the object is.
    pub object_type: ObjectType,
    /// The object's koid.
    pub koid: u64,
    /// The object's name.
    pub name: Text<'a>,
    /// More about it, at most 15; by convention a thread has its process's
    /// koid as `process`.
    pub arguments: Arguments<'a>,
}

/// A message written to the log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Log<'a> {
    /// When it was written, in ticks.
    pub ticks: u64,
    /// Who wrote it.
    pub thread: Thread,
    /// The message, UTF-8 unless the provider got it wrong; cut to
    /// [`MAX_STRING_BYTES`](crate::layout::MAX_STRING_BYTES) when encoded.
    pub message: &'a [u8],
}

/// Bulk data of up to 32 GiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LargeBlob<'a> {
    /// The category.
    pub category: Text<'a>,
    /// The name.
    pub name: Text<'a>,
    /// Where and when it happened; `None` for a mere attachment.
    pub event: Option<LargeBlobEvent<'a>>,
    /// The bytes.
    pub payload: &'a [u8],
}

/// Where and when a large blob happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LargeBlobEvent<'a> {
    /// When it happened, in ticks.
    pub ticks: u64,
    /// Where it happened.
    pub thread: Thread,
    /// More about it, at most 15.
    pub arguments: Arguments<'a>,
}
