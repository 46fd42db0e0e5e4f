//! The durable buffer: records that no wrap overwrites. One thread at a time writes it.

use crate::buffer::header::{field, Layout};
use crate::buffer::memory::WriteMapping;
use crate::sync::Ordering;

use super::publish::publish_record;

/// Writes to the durable buffer, record by record.
#[derive(Debug)]
pub struct DurableWriter {
    mapping: WriteMapping,
    layout: Layout,
    written: usize,
}

/// The durable buffer has no room for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurableFull;

impl std::fmt::Display for DurableFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the durable part of the trace buffer is full")
    }
}

impl std::error::Error for DurableFull {}

impl DurableWriter {
    /// A writer at the start of the durable buffer, which becomes empty.
    pub fn new(mapping: WriteMapping, layout: Layout) -> Self {
        let mut writer = Self { mapping, layout, written: 0 };
        writer.clear();
        writer
    }

    /// Empties the durable buffer.
    pub fn clear(&mut self) {
        self.written = 0;
        self.mapping.words()[self.layout.durable_start()].store(0, Ordering::Relaxed);
        self.publish_end();
    }

    /// Writes one whole record.
    ///
    /// # Errors
    /// [`DurableFull`], with nothing written, where it has no room.
    pub fn append(&mut self, record: &[u64]) -> Result<(), DurableFull> {
        if record.len() >= self.room() {
            return Err(DurableFull);
        }
        let start = self.layout.durable_start() + self.written;
        publish_record(&self.mapping.words()[start..=start + record.len()], record);
        self.written += record.len();
        self.publish_end();
        Ok(())
    }

    /// Words that are free, one of which stays so.
    pub fn room(&self) -> usize {
        self.layout.durable_words() - self.written
    }

    /// Bytes written.
    pub fn end(&self) -> u64 {
        self.written as u64 * 8
    }

    fn publish_end(&self) {
        self.mapping.words()[field::DURABLE_END].store(self.end(), Ordering::Release);
    }
}
