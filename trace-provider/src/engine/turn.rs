//! Trace points that a recording turns on and off.

use std::borrow::Cow;

use trace_format::layout::StringRef;

/// A trace point, as a recording sees it.
pub trait Turn {
    /// Its category; empty where it is on while anything is recorded.
    fn category(&self) -> Cow<'_, str>;

    /// Turns the trace point on, with string refs from `intern`. It stays off if one of its strings
    /// has none.
    fn turn_on(&self, intern: &mut dyn FnMut(&str) -> Option<StringRef>) -> Option<()>;

    /// Turns the trace point off. Only stores.
    fn turn_off(&self);

    /// Shows category, name and keys to `take`: what has to be in the string table while the trace
    /// point is on.
    fn for_each_text(&self, take: &mut dyn FnMut(&str));
}
