//! The order of records in a thread buffer.

use crate::layout::{Action, Version};
use crate::record::Record;

/// The records of a thread buffer so far.
///
/// ```text
/// version 1:    NewBuffer WallClock Pid? NewCpuId Body* EndOfBuffer
/// version 2..5: BufferExtents NewBuffer WallClock Pid? NewCpuId Body*
/// Body:         NewCpuId | TscWrap | CustomEvent | TypedEvent | Function
/// Function:     EntryArgs CallArgument* | any other action
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Progress {
    /// No record.
    Empty,
    /// Its size.
    Extents,
    /// The thread.
    NewBuffer,
    /// The wall-clock time.
    WallClock,
    /// The process.
    Pid,
    /// A time: all records of the body can follow.
    Body,
    /// A function entry to which arguments can follow, and the records of the body.
    Arguments,
}

impl Progress {
    /// Returns whether the records of the body can follow.
    #[inline]
    pub(super) fn is_in_body(self) -> bool {
        self >= Self::Body
    }

    /// Returns whether a thread buffer may end here.
    pub(super) fn may_end(self) -> bool {
        self.is_in_body() || self <= Self::Extents
    }

    /// Returns the progress with `record`, `None` if it is not allowed here.
    pub(super) fn with(self, record: &Record<'_>, version: Version) -> Option<Self> {
        let starts_with_extents = version.has_extents();
        Some(match (self, record) {
            (Self::Empty, Record::BufferExtents { .. }) if starts_with_extents => Self::Extents,
            (Self::Empty, Record::NewBuffer { .. }) if !starts_with_extents => Self::NewBuffer,
            (Self::Extents, Record::NewBuffer { .. }) => Self::NewBuffer,
            (Self::NewBuffer, Record::WallClock(_)) => Self::WallClock,
            (Self::WallClock, Record::Pid { .. }) => Self::Pid,
            (Self::WallClock | Self::Pid, Record::NewCpuId { .. }) => Self::Body,
            (Self::Arguments, Record::CallArgument { .. }) => Self::Arguments,
            (Self::Body | Self::Arguments, record) => Self::in_body(record)?,
            _ => return None,
        })
    }

    fn in_body(record: &Record<'_>) -> Option<Self> {
        match record {
            Record::Function(function) if function.action == Action::EntryArgs => {
                Some(Self::Arguments)
            }
            Record::Function(_)
            | Record::NewCpuId { .. }
            | Record::TscWrap { .. }
            | Record::CustomEvent(_)
            | Record::TypedEvent(_)
            | Record::EndOfBuffer => Some(Self::Body),
            _ => None,
        }
    }
}
