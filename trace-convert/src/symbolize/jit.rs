//! Sampled code without a file.

use std::collections::{BTreeMap, BTreeSet};

use trace_format::layout::cut_str;

/// The most addresses, of which readers keep the names.
const MAX_ADDRESSES: usize = if cfg!(test) { 1 << 10 } else { 1 << 18 };

/// The most bytes of a name, as in readers.
const MAX_NAME_BYTES: usize = 256;

/// The sampled addresses of code without a file, and their names.
#[derive(Debug, Default)]
pub(super) struct JitCode {
    /// By process and address.
    found: BTreeMap<(u64, u64), Address>,
}

#[derive(Debug)]
struct Address {
    /// The address of the call if this is that of a return, else the same.
    call: u64,
    name: Option<String>,
}

impl JitCode {
    /// Adds the address of a frame, which has a depth. Returns false if there are too many.
    pub(super) fn add(&mut self, process: u64, (depth, address): (usize, u64)) -> bool {
        let key = (process, address);
        let has_room = self.found.len() < MAX_ADDRESSES || self.found.contains_key(&key);
        if has_room {
            let call = address.saturating_sub(u64::from(depth > 0));
            self.found.entry(key).or_insert(Address { call, name: None });
        }
        has_room
    }

    pub(super) fn processes(&self) -> BTreeSet<u64> {
        self.found.keys().map(|(process, _)| *process).collect()
    }

    /// Returns the addresses of the calls of a process.
    pub(super) fn calls(&self, process: u64) -> Vec<u64> {
        self.of(process).map(|(_, address)| address.call).collect()
    }

    /// Adds the names of calls of a process.
    pub(super) fn name(&mut self, process: u64, names: &BTreeMap<u64, String>) {
        for (_, address) in self.found.range_mut((process, 0)..=(process, u64::MAX)) {
            let name = names.get(&address.call);
            address.name = name.map(|name| cut_str(name, MAX_NAME_BYTES).to_owned());
        }
    }

    /// Returns the process, the address and the name of all that have one.
    pub(super) fn names(&self) -> impl Iterator<Item = (u64, u64, &str)> {
        let found = self.found.iter();
        found.filter_map(|((process, address), it)| Some((*process, *address, it.name.as_deref()?)))
    }

    fn of(&self, process: u64) -> impl Iterator<Item = (&(u64, u64), &Address)> {
        self.found.range((process, 0)..=(process, u64::MAX))
    }

    /// Returns the number of addresses without a name.
    pub(super) fn unnamed(&self) -> u64 {
        self.found.values().filter(|address| address.name.is_none()).count() as u64
    }
}
