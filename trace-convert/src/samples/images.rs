//! The modules that processes have mapped.

use std::collections::{BTreeMap, HashMap};

use trace_format::{Mmap, Module};

/// Where an address of a stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// In a module.
    Code {
        module: u32,
        /// The address in the module's file.
        address: u64,
    },
    /// At a place that the archive names.
    Named(u32),
    /// Outside of all modules.
    Unknown(u64),
}

/// A program or library.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CodeModule {
    pub(super) name: String,
    pub(super) build_id: Box<[u8]>,
}

/// The modules of all processes.
#[derive(Debug, Default)]
pub(super) struct Images {
    modules: Vec<CodeModule>,
    numbers: HashMap<CodeModule, u32>,
    processes: HashMap<u64, Image>,
}

/// The modules of a process.
#[derive(Debug, Default)]
struct Image {
    /// The number of each module, by its id in the process.
    modules: HashMap<u16, u32>,
    /// The mappings by their first address. They do not overlap.
    current: BTreeMap<u64, Mapping>,
    /// The mappings that others have replaced.
    replaced: Vec<Mapping>,
}

/// Mapped code, in the process from `start` to `end`.
#[derive(Debug, Clone, Copy)]
struct Mapping {
    module: u32,
    start: u64,
    end: u64,
    /// The address of the first byte in the module's file.
    address: u64,
    /// The time of its begin and its end, in nanoseconds.
    since: u64,
    until: u64,
}

impl Images {
    pub(super) fn module(&self, number: u32) -> Option<&CodeModule> {
        self.modules.get(number as usize)
    }

    /// Adds a module of a process.
    pub(super) fn module_record(&mut self, process: u64, record: &Module<'_>) {
        let name = String::from_utf8_lossy(record.name).into_owned();
        let module = CodeModule { name, build_id: record.build_id.into() };
        let number = *self.numbers.entry(module).or_insert_with_key(|module| {
            self.modules.push(module.clone());
            self.modules.len() as u32 - 1
        });
        self.processes.entry(process).or_default().modules.insert(record.module_id, number);
    }

    /// Adds a mapping, which replaces those that overlap it.
    pub(super) fn map(&mut self, process: u64, since: u64, mmap: &Mmap) {
        let image = self.processes.entry(process).or_default();
        let Some(&module) = image.modules.get(&mmap.module_id) else { return };
        let (start, end) = (mmap.start, mmap.start.saturating_add(mmap.length));
        let last = |image: &Image| {
            let (_, last) = image.current.range(..end).next_back()?;
            (last.end > start).then_some(*last)
        };
        while let Some(older) = last(image) {
            image.current.remove(&older.start);
            image.replaced.push(Mapping { until: since, ..older });
        }
        let address = mmap.module_address;
        let mapping = Mapping { module, start, end, address, since, until: u64::MAX };
        image.current.insert(start, mapping);
    }

    /// Returns the place of an address of a process at a time.
    pub(super) fn place(&self, process: u64, nanos: u64, address: u64) -> Place {
        let mapping = self.processes.get(&process).and_then(|image| image.find(nanos, address));
        match mapping {
            Some(Mapping { module, start, address: first, .. }) => {
                Place::Code { module, address: (address - start).wrapping_add(first) }
            }
            None => Place::Unknown(address),
        }
    }
}

impl Image {
    fn find(&self, nanos: u64, address: u64) -> Option<Mapping> {
        let has = |mapping: &Mapping| (mapping.start..mapping.end).contains(&address);
        let current = self.current.range(..=address).next_back().map(|(_, mapping)| *mapping);
        let current = current.filter(has);
        if current.is_some_and(|mapping| mapping.since <= nanos) {
            return current;
        }
        let then =
            |mapping: &&Mapping| has(mapping) && (mapping.since..mapping.until).contains(&nanos);
        // The first mapping may be recorded late.
        self.replaced.iter().rev().find(then).copied().or(current)
    }
}

#[cfg(test)]
mod tests {
    use trace_format::Process;

    use super::*;

    fn images() -> Images {
        let mut images = Images::default();
        let process = Process::Inline(7);
        for (module_id, name) in [(0, "/a"), (1, "/b")] {
            let (name, build_id) = (name.as_bytes(), &[module_id as u8][..]);
            images.module_record(7, &Module { ticks: 0, process, module_id, name, build_id });
        }
        for (since, module_id, start) in [(10, 0, 0x1000), (20, 1, 0x1800), (30, 9, 0x8000)] {
            let (flags, length, module_address) = (5, 0x1000, 0x40);
            let mmap = Mmap { ticks: 0, process, module_id, flags, start, length, module_address };
            images.map(7, since, &mmap);
        }
        images
    }

    #[test]
    fn an_address_is_in_the_module_of_its_time() {
        let images = images();
        for (nanos, address, module, expected) in [
            (10, 0x1900, 0, 0x940),
            (15, 0x1900, 0, 0x940),
            (20, 0x1900, 1, 0x140),
            // Before the first mapping.
            (5, 0x1900, 1, 0x140),
        ] {
            let place = Place::Code { module, address: expected };
            assert_eq!(images.place(7, nanos, address), place, "{nanos}");
        }
        assert_eq!(images.module(1).unwrap().name, "/b");
        // A part of the first mapping is left, which the second one has replaced.
        for (process, address) in [(7, 0x1100), (7, 0x2800), (7, 0x8000), (8, 0x1000)] {
            assert_eq!(images.place(process, 20, address), Place::Unknown(address));
        }
    }
}
