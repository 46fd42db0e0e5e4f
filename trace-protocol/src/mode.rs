//! Buffering modes.

/// The behavior when a provider's buffer is full (tracing system design, "Buffering Modes").
///
/// The values are those of the buffer header's mode field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum BufferingMode {
    /// Keeps the oldest records, and drops later ones.
    #[default]
    Oneshot = 0,
    /// Continues in the next rolling buffer, and overwrites the oldest records.
    Circular = 1,
    /// Continues in the next rolling buffer while the manager saves the full one.
    Streaming = 2,
}

impl BufferingMode {
    /// Returns the mode with this value, or `None` if the value is unknown.
    pub fn from_u8(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Oneshot),
            1 => Some(Self::Circular),
            2 => Some(Self::Streaming),
            _ => None,
        }
    }
}
