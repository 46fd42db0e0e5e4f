//! The modules that processes have mapped, and the places of the addresses in their stacks.

mod past;

use std::collections::{BTreeMap, HashMap};

use trace_analyze::objects::Objects;
use trace_format::{Backtrace, Item, Mmap, Module, Record, Value};

use past::Past;

/// The most records of modules and mappings that are kept.
const MAX_RECORDS: usize = if cfg!(test) { 1 << 17 } else { 1 << 20 };

/// Where an address of a stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// In a module.
    Code(CodeAddress),
    /// At a place that the archive names.
    Named(&'a str),
    /// Outside of all modules.
    Unknown(u64),
}

/// An address in the file of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CodeAddress {
    /// The number of the module.
    pub(crate) module: u32,
    pub(crate) address: u64,
}

/// A program or library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CodeModule {
    pub(crate) name: String,
    pub(crate) build_id: Box<[u8]>,
}

/// The modules of all processes.
#[derive(Debug, Default)]
pub(crate) struct Images {
    modules: Vec<CodeModule>,
    numbers: HashMap<CodeModule, u32>,
    processes: HashMap<u64, Image>,
    /// The number of records that are kept.
    kept: usize,
    /// The number of records beyond the limit.
    omitted: u64,
}

/// The modules of a process.
#[derive(Debug, Default)]
struct Image {
    /// The number of each module, by its id in the process.
    modules: HashMap<u16, u32>,
    /// The mappings by their first address. They do not overlap.
    current: BTreeMap<u64, Mapping>,
    /// The mappings that others have replaced.
    past: Past,
    /// The begin of its first mapping, in nanoseconds.
    since: Option<u64>,
}

/// Mapped code, in the process from `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Adds the module or the mapping of a record. It must get each record of the archive.
    #[inline]
    pub(crate) fn note(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Module(module) => self.module_record(item.process(module.process), module),
            Record::Mmap(mmap) => {
                self.map(item.process(mmap.process), item.nanos(mmap.ticks), mmap);
            }
            _ => {}
        }
    }

    pub(crate) fn module(&self, number: u32) -> Option<&CodeModule> {
        self.modules.get(number as usize)
    }

    /// Returns the number of records of modules and mappings that are not used, because there are
    /// too many.
    pub(crate) fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Returns whether an address is in memory without a file, as code of a just-in-time compiler
    /// is.
    pub(crate) fn is_anonymous(&self, address: CodeAddress) -> bool {
        self.module(address.module).is_some_and(|module| module.name.starts_with("//anon"))
    }

    /// Returns the places of the addresses of a backtrace, innermost first.
    pub(crate) fn places<'a>(
        &'a self,
        objects: &'a Objects,
        item: &'a Item<'_>,
        backtrace: &'a Backtrace<'_>,
    ) -> impl Iterator<Item = Place<'a>> {
        let (process, nanos) = (item.thread(backtrace.thread).process, item.nanos(backtrace.ticks));
        backtrace.frames.iter().enumerate().map(move |(depth, address)| {
            if let Some(name) = objects.name(item, Value::Pointer(address)) {
                return Place::Named(name);
            }
            // The call is before the address to which it returns.
            let call = address.saturating_sub(u64::from(depth > 0));
            self.find(process, nanos, call).map_or(Place::Unknown(call), Place::Code)
        })
    }

    /// Returns whether another record may be kept.
    fn has_room(&mut self) -> bool {
        let has_room = self.kept < MAX_RECORDS;
        self.kept += usize::from(has_room);
        self.omitted += u64::from(!has_room);
        has_room
    }

    /// Adds a module of a process.
    fn module_record(&mut self, process: u64, record: &Module<'_>) {
        if !self.has_room() {
            return;
        }
        let name = String::from_utf8_lossy(record.name).into_owned();
        let module = CodeModule { name, build_id: record.build_id.into() };
        let number = *self.numbers.entry(module).or_insert_with_key(|module| {
            self.modules.push(module.clone());
            self.modules.len() as u32 - 1
        });
        self.processes.entry(process).or_default().modules.insert(record.module_id, number);
    }

    /// Adds a mapping, which replaces those that overlap it.
    fn map(&mut self, process: u64, since: u64, mmap: &Mmap) {
        let module = self
            .processes
            .get(&process)
            .and_then(|image| image.modules.get(&mmap.module_id).copied());
        let Some(module) = module.filter(|_| mmap.length > 0 && self.has_room()) else { return };
        let (start, end) = (mmap.start, mmap.start.saturating_add(mmap.length));
        let mapping =
            Mapping { module, start, end, address: mmap.module_address, since, until: u64::MAX };
        self.processes.entry(process).or_default().map(mapping);
    }

    /// Returns the module and the address in its file of an address of a process at a time.
    fn find(&self, process: u64, nanos: u64, address: u64) -> Option<CodeAddress> {
        let mapping = self.processes.get(&process)?.find(nanos, address)?;
        let address = (address - mapping.start).wrapping_add(mapping.address);
        Some(CodeAddress { module: mapping.module, address })
    }
}

impl Image {
    fn map(&mut self, mapping: Mapping) {
        let Mapping { start, end, since, .. } = mapping;
        self.since = Some(self.since.map_or(since, |first| first.min(since)));
        let last = |current: &BTreeMap<u64, Mapping>| {
            let (_, last) = current.range(..end).next_back()?;
            (last.end > start).then_some(*last)
        };
        while let Some(older) = last(&self.current) {
            self.current.remove(&older.start);
            self.past.add(Mapping { until: since, ..older });
        }
        self.current.insert(start, mapping);
    }

    fn find(&self, nanos: u64, address: u64) -> Option<Mapping> {
        let current = self.current.range(..=address).next_back().map(|(_, mapping)| *mapping);
        let current = current.filter(|mapping| mapping.has(address));
        if current.is_some_and(|mapping| mapping.since <= nanos) {
            return current;
        }
        // The first mapping may be recorded late. A later one may be that of another program, which
        // the process had not executed yet.
        let late = current.filter(|_| self.since.is_some_and(|since| nanos < since));
        self.past.find(nanos, address).or(late)
    }
}

impl Mapping {
    fn has(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use trace_format::Process;

    use super::*;

    const PROCESS: Process = Process::Inline(7);

    fn mmap(module_id: u16, start: u64, length: u64) -> Mmap {
        let (process, module_address) = (PROCESS, 0x40);
        Mmap { ticks: 0, process, module_id, flags: 5, start, length, module_address }
    }

    fn place(images: &Images, nanos: u64, address: u64) -> Option<(u32, u64)> {
        images.find(7, nanos, address).map(|found| (found.module, found.address))
    }

    fn images() -> Images {
        let mut images = Images::default();
        let process = PROCESS;
        for (module_id, name) in [(0, "/a"), (1, "/b")] {
            let (name, build_id) = (name.as_bytes(), &[module_id as u8][..]);
            images.module_record(7, &Module { ticks: 0, process, module_id, name, build_id });
        }
        for (since, module_id, start) in [(10, 0, 0x1000), (20, 1, 0x1800), (30, 9, 0x8000)] {
            images.map(7, since, &mmap(module_id, start, 0x1000));
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
            let found = place(&images, nanos, address);
            assert_eq!(found, Some((module, expected)), "{nanos}");
        }
        assert_eq!(images.module(1).unwrap().name, "/b");
        // A part of the first mapping is left, which the second one has replaced.
        for address in [0x1100, 0x2800, 0x8000] {
            assert_eq!(place(&images, 20, address), None);
        }
        assert_eq!(images.find(8, 20, 0x1000), None);
    }

    /// The process executes another program at 20, which has code where the first one has none.
    #[test]
    fn an_address_before_a_program_is_executed_is_not_in_that_program() {
        let images = images();
        assert_eq!(place(&images, 15, 0x2700), None);
        assert_eq!(place(&images, 20, 0x2700), Some((1, 0xf40)));
    }

    /// A search of all replaced mappings would take minutes.
    #[test]
    fn each_of_many_mappings_of_an_address_is_found() {
        let mut images = images();
        for nanos in 100..100_000 {
            images.map(7, nanos, &mmap(u16::from(nanos % 3 == 0), 0x10_0000 + nanos % 7, 0x1000));
        }
        for nanos in 100..100_000 {
            let expected = Some((u32::from(nanos % 3 == 0), 0x840 - nanos % 7));
            assert_eq!(place(&images, nanos, 0x10_0800), expected, "{nanos}");
        }
        assert_eq!(images.omitted(), 0);
    }

    #[test]
    fn mappings_beyond_the_limit_are_counted() {
        let mut images = images();
        let before = images.kept;
        for nanos in 0..MAX_RECORDS as u64 {
            images.map(7, nanos, &mmap(0, 0x10_0000, 0x1000));
        }
        assert_eq!((images.kept, images.omitted()), (MAX_RECORDS, before as u64));
    }
}
