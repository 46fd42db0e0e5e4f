//! The macros of trace points.

mod events;
mod support;
