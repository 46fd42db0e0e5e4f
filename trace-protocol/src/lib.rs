//! What a trace provider and the trace manager agree on: the shared buffer and the messages

pub mod categories;
pub mod error;
pub mod message;
pub mod mode;
pub mod packet;
pub mod socket;
