//! Buffering modes by name.

use clap::ValueEnum;
use trace_protocol::mode::BufferingMode;

/// What happens when a buffer is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Recording ends: the oldest records are kept
    Oneshot,
    /// Recording goes on: the newest records are kept
    Circular,
    /// Recording goes on while what is full is saved: all records are kept
    Streaming,
}

impl From<Mode> for BufferingMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Oneshot => Self::Oneshot,
            Mode::Circular => Self::Circular,
            Mode::Streaming => Self::Streaming,
        }
    }
}
