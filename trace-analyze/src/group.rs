//! What the events of a row have in common.

mod value;

use trace_format::ThreadKoids;

use crate::catalog::Catalog;
pub use value::GroupValue;

/// A process, or a thread of it, or a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// The process and the thread. The thread is 0 with
    /// [`Grouping::Process`](crate::stats::Grouping::Process).
    pub koids: ThreadKoids,
    /// The process's name, or an empty string if it has none.
    pub process_name: String,
    /// The thread's name, or an empty string if it has none.
    pub thread_name: String,
    /// The value, with [`By::Argument`](crate::stats::By::Argument) and
    /// [`By::Parent`](crate::stats::By::Parent), whose koids are 0.
    pub value: Option<GroupValue>,
}

impl Group {
    /// Returns a thread and its process with their names.
    #[must_use]
    pub fn of_thread(catalog: &Catalog, koids: ThreadKoids) -> Self {
        Self {
            koids,
            process_name: catalog.process_name(koids.process).to_owned(),
            thread_name: catalog.thread_name(koids).to_owned(),
            value: None,
        }
    }
}
