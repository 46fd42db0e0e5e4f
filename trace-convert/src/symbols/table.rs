//! Frames by module and address.

use std::collections::HashMap;
use std::sync::Arc;

use trace_symbols::Frame;

use super::texts::Texts;
use super::Frames;
use crate::images::CodeModule;

/// The most frames and addresses of a table.
const MAX_ENTRIES: usize = if cfg!(test) { 1 << 10 } else { 1 << 21 };

/// Frames by module and address, in limited memory.
#[derive(Debug, Default)]
pub(super) struct Table {
    modules: HashMap<CodeModule, HashMap<u64, Frames>>,
    texts: Texts,
    entries: usize,
    omitted: u64,
}

impl Table {
    pub(super) fn get(&self, module: &CodeModule, address: u64) -> Option<Frames> {
        self.modules.get(module)?.get(&address).cloned()
    }

    /// Returns whether an address could not be added.
    pub(super) fn is_full(&self) -> bool {
        self.omitted > 0
    }

    /// Returns the number of addresses that could not be added.
    pub(super) fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Adds the frames at an address, if there is room, and returns them.
    pub(super) fn add(&mut self, module: &CodeModule, address: u64, frames: &[Frame]) -> Frames {
        let entries = self.entries + 1 + frames.len();
        let shared = match entries <= MAX_ENTRIES {
            true => frames.iter().map(|frame| self.shared(frame)).collect::<Option<Frames>>(),
            false => None,
        };
        let Some(shared) = shared else {
            self.omitted += 1;
            return frames.into();
        };
        self.entries = entries;
        if !self.modules.contains_key(module) {
            self.modules.insert(module.clone(), HashMap::new());
        }
        if let Some(addresses) = self.modules.get_mut(module) {
            addresses.insert(address, Arc::clone(&shared));
        }
        shared
    }

    /// Returns a frame with the strings of other frames.
    fn shared(&mut self, frame: &Frame) -> Option<Frame> {
        let file = match &frame.file {
            Some(file) => Some(self.texts.intern(file)?),
            None => None,
        };
        let function = self.texts.intern(&frame.function)?;
        Some(Frame { function, file, line: frame.line, column: None })
    }
}
