//! What a provider leaves out of its trace without dropping a record, and reports.

pub use trace_format::notes::{Omission, Omitted};
