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

impl<'a> Record<'a> {
    /// Calls `visit` once for each string, thread and process of the record,
    /// those of its arguments too.
    #[inline]
    pub fn references(&self, mut visit: impl FnMut(Reference<'a>)) {
        use Reference as R;
        match self {
            Self::Event(event) => {
                visit(R::Thread(event.thread));
                visit(R::Text(event.category));
                visit(R::Text(event.name));
            }
            Self::Blob(blob) => visit(R::Text(blob.name)),
            Self::UserspaceObject(object) => {
                visit(R::Process(object.process));
                visit(R::Text(object.name));
            }
            Self::KernelObject(object) => visit(R::Text(object.name)),
            Self::LegacyContextSwitch(switch) => {
                visit(R::Thread(switch.outgoing));
                visit(R::Thread(switch.incoming));
            }
            Self::Log(log) => visit(R::Thread(log.thread)),
            Self::Module(module) => visit(R::Process(module.process)),
            Self::Mmap(mmap) => visit(R::Process(mmap.process)),
            Self::Backtrace(backtrace) => visit(R::Thread(backtrace.thread)),
            Self::LargeBlob(blob) => {
                visit(R::Text(blob.category));
                visit(R::Text(blob.name));
                blob.event.iter().for_each(|event| visit(R::Thread(event.thread)));
            }
            Self::Metadata(_)
            | Self::Initialization { .. }
            | Self::String { .. }
            | Self::Thread { .. }
            | Self::ContextSwitch(_)
            | Self::ThreadWakeup(_)
            | Self::Unknown(_) => {}
        }
        for argument in &self.arguments() {
            visit(R::Text(argument.name));
            if let Value::String(value) = argument.value {
                visit(R::Text(value));
            }
        }
    }
}
