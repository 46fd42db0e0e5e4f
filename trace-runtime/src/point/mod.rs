//! What a trace point is made of.

pub mod argument;
pub mod names;
pub mod site;
pub mod write;
