//! What stands behind options.

mod duration;
mod mode;
mod size;

pub(crate) use duration::parse_duration;
pub(crate) use mode::Mode;
pub(crate) use size::parse_size;
