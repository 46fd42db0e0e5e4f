//! Trace points that a recording turns on and off.

use std::borrow::Cow;

use trace_format::layout::StringRef;

/// The durations of a trace point.
#[derive(Clone, Debug)]
pub struct Durations<'a> {
    /// The name. If it is empty, each duration has its own.
    pub name: Cow<'a, str>,
    /// Whether the trace point calls [`Engine::compare`](crate::Engine::compare) at the end of each
    /// one while it is watched.
    pub is_compared: bool,
}

/// What a recording requires of a trace point that it turns on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demands {
    /// Its durations are compared.
    pub is_watched: bool,
    /// The recording takes [function records](trace_protocol::buffer::function).
    pub function_records: bool,
}

/// The activation of a trace point by a recording.
pub trait Turn {
    /// Returns the category. If it is empty, the trace point is on while anything is recorded.
    fn category(&self) -> Cow<'_, str>;

    /// Returns its durations, or `None` if it records none.
    fn durations(&self) -> Option<Durations<'_>> {
        None
    }

    /// Turns the trace point on, with string refs from `intern`. It stays off if `intern` fails.
    fn turn_on(
        &self,
        intern: &mut dyn FnMut(&str) -> Option<StringRef>,
        demands: Demands,
    ) -> Option<()>;

    /// Turns the trace point off. Does nothing but stores.
    fn turn_off(&self);

    /// Calls `take` with the category, the name and the keys: the strings that must be registered
    /// while the trace point is on.
    fn for_each_text(&self, take: &mut dyn FnMut(&str));
}
