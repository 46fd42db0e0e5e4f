//! What a session is asked to be.

use trace_protocol::buffer::header::{BufferingMode, Layout};

use crate::error::ManagerError;
use crate::machine::{Terms, Timeouts, Trigger, TriggerAction};
use crate::memory::available_memory;

/// What a session is asked to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// What happens when a buffer fills; default oneshot.
    pub mode: BufferingMode,
    /// The size of each provider's buffer in bytes; default 4 MiB. Rounded to what works: at least
    /// a page for each part, more where a provider has much to put into its durable buffer.
    pub buffer_size: u64,
    /// Category patterns; see [`CategorySet`](trace_protocol::categories::CategorySet). None means
    /// all.
    pub categories: Vec<String>,
    /// How long to wait for providers; default 5 s for each step.
    pub timeouts: Timeouts,
    /// What alerts do; default nothing.
    pub triggers: Vec<Trigger>,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            mode: BufferingMode::Oneshot,
            buffer_size: 4 << 20,
            categories: Vec::new(),
            timeouts: Timeouts::default(),
            triggers: Vec::new(),
        }
    }
}

/// The most durable bytes that a provider is given because it asks for them.
const MAX_DURABLE_HINT: u64 = 64 << 20;

impl SessionConfig {
    /// Checks that a provider can be given a buffer.
    pub(crate) fn check(&self) -> Result<(), ManagerError> {
        if self.buffer_size == 0 {
            return Err(ManagerError::NoBufferSize);
        }
        self.layout(0).map(drop)
    }

    /// Returns the layout of the buffer for a provider that wants `durable_hint` durable bytes.
    pub(crate) fn layout(&self, durable_hint: u64) -> Result<Layout, ManagerError> {
        let available = available_memory();
        let too_large = |wanted| ManagerError::BufferTooLarge { wanted, available };
        let size = usize::try_from(self.buffer_size).map_err(|_| too_large(self.buffer_size))?;
        let hint = durable_hint.min(MAX_DURABLE_HINT) as usize;
        let layout = Layout::plan(self.mode, size, hint).ok_or(too_large(self.buffer_size))?;
        let wanted = layout.total_size() as u64;
        if wanted > available {
            return Err(too_large(wanted));
        }
        Ok(layout)
    }

    /// Tells whether alerts may ask for snapshots.
    pub(crate) fn takes_snapshots(&self) -> bool {
        self.triggers.iter().any(|trigger| trigger.action == TriggerAction::Snapshot)
    }

    pub(crate) fn terms(&self) -> Terms {
        Terms { mode: self.mode, categories: self.categories.clone(), timeouts: self.timeouts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(buffer_size: u64) -> SessionConfig {
        SessionConfig { buffer_size, ..SessionConfig::default() }
    }

    #[test]
    fn small_and_odd_sizes_are_made_workable() {
        for size in [1, 7, 4095, 4097, 123_457] {
            assert!(sized(size).check().is_ok(), "{size}");
            assert!(sized(size).layout(u64::from(u32::MAX)).is_ok());
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(matches!(sized(0).check(), Err(ManagerError::NoBufferSize)));
        for size in [1 << 50, u64::MAX] {
            let error = sized(size).check().unwrap_err();
            assert!(matches!(error, ManagerError::BufferTooLarge { .. }), "{error}");
        }
    }
}
