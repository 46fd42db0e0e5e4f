//! The address spaces of sampled processes, and the records of their modules and stacks.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use std::os::unix::ffi::OsStrExt;
use trace_format::{Backtrace, Mmap, Module, Process, Thread, ThreadKoids, WriteError};

use super::super::record::{MappedFile, SampleId, StackSample};
use super::files::Files;
use super::mapping::Mapping;
use super::maps;
use super::unwind::{ProcessTables, RuleCache};
use crate::fxt::RecordSink;
use crate::live::options::CallGraph;
use crate::live::processes;

/// The most addresses of a backtrace record.
const MAX_FRAMES: usize = 255;

/// The least address that is a mark of the kernel in a chain of addresses.
const MARKS: u64 = -4095_i64 as u64;

/// The most processes that have ended and are remembered: their other threads may go on.
const MAX_ENDED: usize = 1 << 10;

/// The most mappings of a process.
const MAX_MAPPINGS: usize = 1 << 16;

/// The most processes whose address spaces are known.
const MAX_IMAGES: usize = 1 << 16;

/// The most bytes of mappings and modules.
const MAX_BYTES: usize = 256 << 20;

/// The address spaces of processes.
#[derive(Debug)]
pub(crate) struct Images {
    images: HashMap<u32, Image>,
    /// The kernel's code, which all processes of a file have.
    kernel: Vec<Mapping>,
    /// Whether the processes are those of a file, and not of this machine.
    is_recorded: bool,
    /// The bytes of mappings and modules that may be added.
    room: usize,
    /// The number of mappings and modules that were not added.
    omitted: u64,
    ended: VecDeque<u32>,
    files: Files,
    rules: RuleCache,
}

/// The address space of a process.
#[derive(Debug, Default)]
struct Image {
    mappings: Vec<Mapping>,
    /// The number of mappings that have records.
    written: usize,
    /// The id of each module, by its path and build id.
    modules: HashMap<(Arc<Path>, Box<[u8]>), u16>,
    tables: ProcessTables,
}

impl Default for Images {
    fn default() -> Self {
        let (images, ended, rules, kernel) = Default::default();
        let (files, is_recorded, room, omitted) = (Files::new(false), false, MAX_BYTES, 0);
        Self { images, kernel, is_recorded, room, omitted, ended, files, rules }
    }
}

impl Images {
    /// Returns the address spaces of the processes of these threads; of all if there are none.
    pub(crate) fn new(call_graph: CallGraph, scope: &[u64]) -> Self {
        let process = |thread: &u64| processes::family(*thread).map(|(process, _)| process);
        let processes = match scope {
            [] => processes::all(),
            threads => threads.iter().filter_map(process).collect(),
        };
        let processes = processes.into_iter().filter_map(|process| u32::try_from(process).ok());
        let files = Files::new(matches!(call_graph, CallGraph::Dwarf { .. }));
        let mut images = Self { files, ..Self::default() };
        processes.for_each(|process| images.insert(process, maps::read(process)));
        images
    }

    /// Returns the address spaces of the processes of a file, of which none is known. Nothing about
    /// the processes of this machine is read.
    pub(crate) fn recorded() -> Self {
        Self { files: Files::recorded(), is_recorded: true, ..Self::default() }
    }

    /// Returns the number of mappings and modules that are not known, because there are too many.
    pub(crate) fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Adds code of the kernel, which all later processes have.
    pub(crate) fn map_kernel(&mut self, ticks: u64, file: &MappedFile) {
        if self.kernel.len() < MAX_MAPPINGS {
            self.kernel.push(Mapping::of(ticks, file));
        }
    }

    /// Gives a process another program.
    pub(crate) fn exec(&mut self, process: u32) {
        self.insert(process, self.kernel.clone());
    }

    /// Gives a process an address space.
    fn insert(&mut self, process: u32, mappings: Vec<Mapping>) {
        self.remove(process);
        let bytes: usize = mappings.iter().map(Mapping::bytes).sum();
        match self.room.checked_sub(bytes).filter(|_| self.images.len() < MAX_IMAGES) {
            Some(room) => {
                self.room = room;
                self.images.insert(process, Image { mappings, ..Image::default() });
            }
            None => self.omitted += mappings.len() as u64,
        }
    }

    fn remove(&mut self, process: u32) {
        if let Some(image) = self.images.remove(&process) {
            self.room = self.room.saturating_add(image.bytes());
        }
    }

    /// Returns the address space of a process, unless there are too many.
    fn get(&mut self, process: u32) -> Option<&mut Image> {
        if !self.images.contains_key(&process) {
            let mappings = match self.is_recorded {
                true => self.kernel.clone(),
                false => maps::read(process),
            };
            self.insert(process, mappings);
        }
        self.images.get_mut(&process)
    }

    /// Gives a new process the address space of its creator.
    pub(crate) fn fork(&mut self, process: u32, creator: u32) {
        self.ended.retain(|ended| *ended != process);
        let mappings = self.images.get(&creator).map(|image| image.mappings.clone());
        let unknown = || self.kernel.clone();
        self.insert(process, mappings.unwrap_or_else(unknown));
    }

    /// Forgets a process some time after its end.
    pub(crate) fn exit(&mut self, process: u32) {
        self.ended.push_back(process);
        if self.ended.len() > MAX_ENDED {
            if let Some(process) = self.ended.pop_front() {
                self.remove(process);
            }
        }
    }

    /// Adds mapped code, which replaces what was there.
    pub(crate) fn map(&mut self, ticks: u64, file: &MappedFile) {
        let mapping = Mapping::of(ticks, file);
        if !self.images.contains_key(&file.process) {
            self.insert(file.process, self.kernel.clone());
        }
        let room = self.room.checked_sub(mapping.bytes());
        match (room, self.images.get_mut(&file.process)) {
            (Some(room), Some(image)) => self.room = room.saturating_add(image.map(mapping)),
            _ => self.omitted += 1,
        }
    }

    /// Writes the stack of a sample, after the mappings of its process that have no records yet.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub(crate) fn sample<S: RecordSink>(
        &mut self,
        ticks: u64,
        id: SampleId,
        sample: &StackSample,
        sink: &mut S,
    ) -> Result<(), WriteError> {
        let (mut mapped, mut frames) = (Ok(()), frames_of(&sample.chain));
        if self.get(id.process).is_some() {
            let Self { images, files, room, omitted, rules, .. } = self;
            if let Some(image) = images.get_mut(&id.process) {
                mapped = image.write(ticks, id.process, files, (room, omitted), sink);
                if !sample.registers.is_empty() {
                    frames.extend(image.tables.frames(sample, rules, MAX_FRAMES));
                }
            }
        }
        frames.truncate(MAX_FRAMES);
        let thread = Thread::Inline(ThreadKoids::new(id.process.into(), id.thread.into()));
        let backtrace = Backtrace { ticks, thread, frames: frames[..].into() };
        mapped.and(sink.record(&backtrace.into()))
    }
}

impl Image {
    /// Returns the bytes of its mappings and modules.
    fn bytes(&self) -> usize {
        let modules = self.modules.keys().map(|(path, build_id)| module_bytes(path, build_id));
        self.mappings.iter().map(Mapping::bytes).chain(modules).sum()
    }

    /// Adds a mapping. Returns the bytes of those that it replaces, with its own if there are too
    /// many.
    fn map(&mut self, mapping: Mapping) -> usize {
        let (mut place, mut replaced) = (0, 0);
        let (mut written, tables) = (self.written, &mut self.tables);
        self.mappings.retain(|other| {
            let is_replaced = other.overlaps(&mapping);
            if is_replaced && place < self.written {
                written -= 1;
                tables.remove(other);
            }
            place += 1;
            replaced += if is_replaced { other.bytes() } else { 0 };
            !is_replaced
        });
        self.written = written;
        if self.mappings.len() >= MAX_MAPPINGS {
            return replaced + mapping.bytes();
        }
        self.mappings.push(mapping);
        replaced
    }

    /// Writes the mappings that have no records yet, with their modules. Those that existed at the
    /// start have the time `now`.
    fn write<S: RecordSink>(
        &mut self,
        now: u64,
        process: u32,
        files: &mut Files,
        (room, omitted): (&mut usize, &mut u64),
        sink: &mut S,
    ) -> Result<(), WriteError> {
        let mut result = Ok(());
        let Self { mappings, written, modules, tables } = self;
        for mapping in mappings.get(*written..).unwrap_or_default() {
            let file = files.get(process, mapping);
            tables.add(mapping, &file);
            let process = Process::Inline(process.into());
            let ticks = if mapping.ticks == 0 { now } else { mapping.ticks };
            let next = modules.len();
            let key = (Arc::clone(&mapping.path), file.build_id.clone());
            let rest = room.checked_sub(module_bytes(&key.0, &key.1));
            let module_id = match (modules.get(&key), u16::try_from(next).ok().zip(rest)) {
                (Some(module_id), _) => *module_id,
                (None, Some((module_id, rest))) => {
                    *room = rest;
                    let build_id = &*file.build_id;
                    let name = mapping.path.as_os_str().as_bytes();
                    let module = Module { ticks, process, module_id, name, build_id };
                    result = result.and(sink.record(&module.into()));
                    modules.insert(key, module_id);
                    module_id
                }
                // Ids have 16 bits.
                (None, None) => {
                    *omitted += 1;
                    continue;
                }
            };
            let Mapping { start, length, offset, protection: flags, .. } = *mapping;
            let module_address = file.address(offset, length).unwrap_or(offset);
            let mmap = Mmap { ticks, process, module_id, flags, start, length, module_address };
            result = result.and(sink.record(&mmap.into()));
        }
        *written = mappings.len();
        result
    }
}

/// Returns the bytes of memory of a module.
fn module_bytes(path: &Path, build_id: &[u8]) -> usize {
    2 * std::mem::size_of::<(Arc<Path>, Box<[u8]>, u16)>() + path.as_os_str().len() + build_id.len()
}

/// Returns the addresses without the marks of the kernel.
fn frames_of(chain: &[u64]) -> Vec<u64> {
    chain.iter().copied().filter(|address| *address < MARKS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(process: u32, start: u64, path: &str) -> MappedFile {
        let path = path.as_bytes().into();
        let (length, offset, protection, inode) = (0x1000, 0, 5, None);
        let build_id = [].into();
        MappedFile { process, start, length, offset, protection, build_id, inode, path }
    }

    fn paths(images: &Images, process: u32) -> Vec<&str> {
        let mappings = images.images.get(&process).map(|image| &image.mappings[..]);
        mappings.unwrap_or_default().iter().filter_map(|mapping| mapping.path.to_str()).collect()
    }

    #[test]
    fn children_have_the_code_of_their_creators_until_they_execute_a_program() {
        let mut images = Images::default();
        images.map(1, &mapped(7, 0x1000, "/a"));
        images.map(2, &mapped(7, 0x3000, "/b"));
        images.fork(8, 7);
        images.exec(7);
        images.map(3, &mapped(7, 0x1000, "/c"));
        assert_eq!((paths(&images, 7), paths(&images, 8)), (vec!["/c"], vec!["/a", "/b"]));
    }

    #[test]
    fn mapped_code_replaces_what_was_there() {
        let mut images = Images::default();
        for (start, path) in [(0x1000, "/a"), (0x2000, "/b"), (0x3000, "/c"), (0x1800, "/d")] {
            images.map(1, &mapped(7, start, path));
        }
        assert_eq!(paths(&images, 7), ["/c", "/d"]);
    }

    #[test]
    fn ended_processes_are_forgotten_later() {
        let mut images = Images::default();
        for process in 0..MAX_ENDED as u32 + 10 {
            images.map(1, &mapped(process, 0x1000, "/a"));
            images.exit(process);
        }
        assert_eq!(images.images.len(), MAX_ENDED);
        assert!(paths(&images, 9).is_empty() && !paths(&images, 10).is_empty());
    }

    #[test]
    fn marks_of_the_kernel_are_no_frames() {
        assert_eq!(frames_of(&[-512_i64 as u64, 0x10, 0x20]), [0x10, 0x20]);
    }
}
