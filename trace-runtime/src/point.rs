//! Trace points: their statics, arguments and records.

pub(crate) mod alert;
mod announce;
pub(crate) mod arguments;
pub(crate) mod blob;
pub(crate) mod names;
pub(crate) mod object;
pub(crate) mod path;
pub(crate) mod place;
pub(crate) mod record;
#[allow(unsafe_code)]
pub(crate) mod registry;
pub(crate) mod scopes;
#[allow(unsafe_code)]
pub(crate) mod sections;
pub(crate) mod site;
pub(crate) mod write;
