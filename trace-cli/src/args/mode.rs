//! Buffering modes by name.

use clap::ValueEnum;
use trace_protocol::mode::BufferingMode;

/// What happens when a buffer is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Stop recording; keep the oldest records
    Oneshot,
    /// Overwrite the oldest records; keep the newest
    Circular,
    /// Save full buffers while recording; keep all records
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
