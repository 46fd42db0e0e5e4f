//! The trace manager: sessions and providers as state machines, the event loop around them, and the
//! archive that comes out.

#![forbid(unsafe_code)]

pub mod machine;
