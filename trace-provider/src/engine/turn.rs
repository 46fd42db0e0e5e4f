//! Trace points that a recording turns on and off.

use std::borrow::Cow;

use trace_format::layout::StringRef;

/// The activation of a trace point by a recording.
pub trait Turn {
    /// Returns the category. If it is empty, the trace point is on while anything is recorded.
    fn category(&self) -> Cow<'_, str>;

    /// Turns the trace point on, with string refs from `intern`. It stays off if `intern` fails.
    fn turn_on(&self, intern: &mut dyn FnMut(&str) -> Option<StringRef>) -> Option<()>;

    /// Turns the trace point off. Does nothing but stores.
    fn turn_off(&self);

    /// Calls `take` with the category, the name and the keys: the strings that must be registered
    /// while the trace point is on.
    fn for_each_text(&self, take: &mut dyn FnMut(&str));
}
