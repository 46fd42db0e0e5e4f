//! What a trace point is made of.

pub(crate) mod arguments;
pub(crate) mod names;
pub(crate) mod path;
pub(crate) mod place;
pub(crate) mod registry;
pub(crate) mod site;
pub(crate) mod track;
pub(crate) mod write;
