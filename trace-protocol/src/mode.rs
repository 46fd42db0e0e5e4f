//! What happens when a buffer fills.

/// What happens when a provider's buffer fills (tracing system design, "Buffering Modes").
///
/// The values are those of the buffer header's mode field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum BufferingMode {
    /// Recording ends: the oldest records are kept.
    #[default]
    Oneshot = 0,
    /// Recording goes on in the next rolling buffer: the newest records are kept.
    Circular = 1,
    /// Recording goes on in the next rolling buffer while the manager saves the full one.
    Streaming = 2,
}

impl BufferingMode {
    /// Returns the mode with this value, if there is one.
    pub fn from_u8(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Oneshot),
            1 => Some(Self::Circular),
            2 => Some(Self::Streaming),
            _ => None,
        }
    }
}
