//! The strings, threads and processes of a record.

use super::{Process, Record, Text, Thread, Value};

/// A string, thread or process of a record, inline or as an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'a> {
    /// A string.
    Text(Text<'a>),
    /// A thread.
    Thread(Thread),
    /// A process, stored as a thread ref.
    Process(Process),
}

/// A mutable reference to a string, thread or process of a record.
#[derive(Debug)]
pub enum ReferenceMut<'r, 'a> {
    /// A string.
    Text(&'r mut Text<'a>),
    /// A thread.
    Thread(&'r mut Thread),
    /// A process, stored as a thread ref.
    Process(&'r mut Process),
}

/// Visits the strings, threads and processes of a record as `$kind`, except those of its arguments.
macro_rules! visit_references {
    ($record:expr, $visit:expr, $kind:ident, $($by:tt)*) => {
        match $record {
            Self::Event(event) => {
                $visit($kind::Thread($($by)* event.thread));
                $visit($kind::Text($($by)* event.category));
                $visit($kind::Text($($by)* event.name));
            }
            Self::Blob(blob) => $visit($kind::Text($($by)* blob.name)),
            Self::UserspaceObject(object) => {
                $visit($kind::Process($($by)* object.process));
                $visit($kind::Text($($by)* object.name));
            }
            Self::KernelObject(object) => $visit($kind::Text($($by)* object.name)),
            Self::LegacyContextSwitch(switch) => {
                $visit($kind::Thread($($by)* switch.outgoing));
                $visit($kind::Thread($($by)* switch.incoming));
            }
            Self::Log(log) => $visit($kind::Thread($($by)* log.thread)),
            Self::Module(module) => $visit($kind::Process($($by)* module.process)),
            Self::Mmap(mmap) => $visit($kind::Process($($by)* mmap.process)),
            Self::Backtrace(backtrace) => $visit($kind::Thread($($by)* backtrace.thread)),
            Self::LargeBlob(blob) => {
                $visit($kind::Text($($by)* blob.category));
                $visit($kind::Text($($by)* blob.name));
                if let Some(event) = ($($by)* blob.event).into_iter().next() {
                    $visit($kind::Thread($($by)* event.thread));
                }
            }
            _ => {}
        }
    };
}

impl<'a> Record<'a> {
    /// Calls `visit` with each string, thread and process of the record and of its arguments.
    #[inline]
    pub fn references(&self, mut visit: impl FnMut(Reference<'a>)) {
        visit_references!(self, visit, Reference,);
        for argument in &self.arguments() {
            visit(Reference::Text(argument.name));
            if let Value::String(value) = argument.value {
                visit(Reference::Text(value));
            }
        }
    }

    /// Calls `visit` with each string, thread and process of the record, except those of its
    /// arguments.
    #[inline]
    pub fn references_mut(&mut self, mut visit: impl FnMut(ReferenceMut<'_, 'a>)) {
        visit_references!(self, visit, ReferenceMut, &mut);
    }
}
