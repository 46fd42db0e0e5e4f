//! What a record refers to.

use super::{Process, Record, Text, Thread, Value};

/// A string, thread or process of a record: itself, or an index in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'a> {
    /// A string.
    Text(Text<'a>),
    /// A thread.
    Thread(Thread),
    /// A process, by a thread ref.
    Process(Process),
}

/// A string, thread or process of a record, to be replaced.
#[derive(Debug)]
pub enum ReferenceMut<'r, 'a> {
    /// A string.
    Text(&'r mut Text<'a>),
    /// A thread.
    Thread(&'r mut Thread),
    /// A process, by a thread ref.
    Process(&'r mut Process),
}

impl<'a> Record<'a> {
    /// Calls `visit` once for each string, thread and process of the record,
    /// those of its arguments too.
    #[inline]
    pub fn references(&self, mut visit: impl FnMut(Reference<'a>)) {
        let mut record = *self;
        record.references_mut(|reference| {
            visit(match reference {
                ReferenceMut::Text(text) => Reference::Text(*text),
                ReferenceMut::Thread(thread) => Reference::Thread(*thread),
                ReferenceMut::Process(process) => Reference::Process(*process),
            });
        });
        for argument in &self.arguments() {
            visit(Reference::Text(argument.name));
            if let Value::String(value) = argument.value {
                visit(Reference::Text(value));
            }
        }
    }

    /// Calls `visit` with each string, thread and process that the record names outside of its
    /// arguments.
    #[inline]
    pub fn references_mut(&mut self, mut visit: impl FnMut(ReferenceMut<'_, 'a>)) {
        use ReferenceMut::{Process, Text, Thread};
        match self {
            Self::Event(event) => {
                visit(Thread(&mut event.thread));
                visit(Text(&mut event.category));
                visit(Text(&mut event.name));
            }
            Self::Blob(blob) => visit(Text(&mut blob.name)),
            Self::UserspaceObject(object) => {
                visit(Process(&mut object.process));
                visit(Text(&mut object.name));
            }
            Self::KernelObject(object) => visit(Text(&mut object.name)),
            Self::LegacyContextSwitch(switch) => {
                visit(Thread(&mut switch.outgoing));
                visit(Thread(&mut switch.incoming));
            }
            Self::Log(log) => visit(Thread(&mut log.thread)),
            Self::Module(module) => visit(Process(&mut module.process)),
            Self::Mmap(mmap) => visit(Process(&mut mmap.process)),
            Self::Backtrace(backtrace) => visit(Thread(&mut backtrace.thread)),
            Self::LargeBlob(blob) => {
                visit(Text(&mut blob.category));
                visit(Text(&mut blob.name));
                if let Some(event) = &mut blob.event {
                    visit(Thread(&mut event.thread));
                }
            }
            _ => {}
        }
    }
}
