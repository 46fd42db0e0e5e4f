//! The address spaces of sampled processes, and the records of their modules and stacks.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use std::os::unix::ffi::OsStrExt;
use trace_format::{Backtrace, Mmap, Module, Process, Thread, ThreadKoids, WriteError};

use super::super::record::{MappedFile, SampleId, StackSample};
use super::files::Files;
use super::mapping::Mapping;
use super::maps;
use super::space::Space;
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

/// The most processes whose address spaces are known.
const MAX_IMAGES: usize = 1 << 16;

/// The most bytes of mappings and modules.
const MAX_BYTES: usize = 256 << 20;

/// The most bytes of records of mappings and modules of a file.
const MAX_RECORD_BYTES: usize = 256 << 20;

/// The bytes of memory, and of the archive, of a mapping's record.
const RECORD_BYTES: usize = 64;

/// The address spaces of processes.
#[derive(Debug)]
pub(crate) struct Images {
    images: HashMap<u32, Image>,
    /// The kernel's code, which all processes of a file have.
    kernel: Arc<Space>,
    /// Whether the processes are those of a file, and not of this machine.
    is_recorded: bool,
    /// The bytes of mappings and modules that may be added.
    room: usize,
    /// The bytes of records of mappings and modules that may be written.
    output: usize,
    /// The number of mappings and modules that were not added.
    omitted: u64,
    ended: VecDeque<u32>,
    files: Files,
    rules: RuleCache,
}

/// The address space of a process.
#[derive(Debug, Default)]
struct Image {
    space: Arc<Space>,
    /// The first address of each mapping that has a record.
    written: HashSet<u64>,
    /// The id of each module, by its path and build id.
    modules: HashMap<(Arc<Path>, Box<[u8]>), u16>,
    tables: ProcessTables,
    /// The first address of each mapping whose tables were added.
    loaded: HashSet<u64>,
    /// Whether the tables of all mappings were added.
    is_loaded: bool,
    /// The bytes of its records and tables.
    bytes: usize,
}

/// What remains for all processes: memory and records.
struct Limits<'a> {
    files: &'a mut Files,
    room: &'a mut usize,
    output: &'a mut usize,
    omitted: &'a mut u64,
}

impl Default for Images {
    fn default() -> Self {
        let (images, ended, rules, kernel) = Default::default();
        let (files, is_recorded, omitted) = (Files::new(false), false, 0);
        let (room, output) = (MAX_BYTES, usize::MAX);
        Self { images, kernel, is_recorded, room, output, omitted, ended, files, rules }
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
        processes.for_each(|process| images.insert(process, Space::of(maps::read(process)).into()));
        images
    }

    /// Returns the address spaces of the processes of a file, of which none is known. Nothing about
    /// the processes of this machine is read.
    pub(crate) fn recorded() -> Self {
        let (files, output) = (Files::recorded(), MAX_RECORD_BYTES);
        Self { files, output, is_recorded: true, ..Self::default() }
    }

    /// Returns the number of mappings and modules that are not known, because there are too many.
    pub(crate) fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Adds code of the kernel, which all later processes have.
    pub(crate) fn map_kernel(&mut self, ticks: u64, file: &MappedFile) {
        let Self { kernel, room, .. } = self;
        let changed = Space::change(kernel, room, Mapping::of(ticks, file));
        self.omitted += u64::from(changed.is_none());
    }

    /// Gives a process another program, of which only the kernel's code is known.
    pub(crate) fn exec(&mut self, process: u32) {
        self.insert(process, Arc::clone(&self.kernel));
    }

    /// Gives a process an address space. Those that others have need no room.
    fn insert(&mut self, process: u32, space: Arc<Space>) {
        self.remove(process);
        let bytes = if Arc::strong_count(&space) > 1 { 0 } else { space.bytes() };
        match self.room.checked_sub(bytes).filter(|_| self.images.len() < MAX_IMAGES) {
            Some(room) => {
                self.room = room;
                self.images.insert(process, Image { space, ..Image::default() });
            }
            None => self.omitted += space.len() as u64,
        }
    }

    fn remove(&mut self, process: u32) {
        if let Some(Image { space, bytes, .. }) = self.images.remove(&process) {
            let of_space = Arc::into_inner(space).map_or(0, |space| space.bytes());
            self.room = self.room.saturating_add(bytes).saturating_add(of_space);
        }
    }

    /// Knows the address space of a process from now on, unless there are too many.
    fn find(&mut self, process: u32) {
        if !self.images.contains_key(&process) {
            let space = match self.is_recorded {
                true => Arc::clone(&self.kernel),
                false => Space::of(maps::read(process)).into(),
            };
            self.insert(process, space);
        }
    }

    /// Gives a new process the address space of its creator.
    pub(crate) fn fork(&mut self, process: u32, creator: u32) {
        self.ended.retain(|ended| *ended != process);
        let space = self.images.get(&creator).map_or(&self.kernel, |image| &image.space);
        self.insert(process, Arc::clone(space));
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
        if !self.images.contains_key(&file.process) {
            self.insert(file.process, Arc::clone(&self.kernel));
        }
        let room = &mut self.room;
        let image = self.images.get_mut(&file.process);
        let changed = image.and_then(|image| image.map(room, Mapping::of(ticks, file)));
        self.omitted += u64::from(changed.is_none());
    }

    /// Writes the stack of a sample, after the mappings of its frames that have no records yet.
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
        self.find(id.process);
        let Self { images, files, room, output, omitted, rules, .. } = self;
        if let Some(image) = images.get_mut(&id.process) {
            let mut limits = Limits { files, room, output, omitted };
            if !sample.registers.is_empty() {
                image.load(id.process, &mut limits);
                frames.extend(image.tables.frames(sample, rules, MAX_FRAMES));
            }
            frames.truncate(MAX_FRAMES);
            mapped = image.write_all(ticks, id.process, &frames, &mut limits, sink);
        }
        frames.truncate(MAX_FRAMES);
        let thread = Thread::Inline(ThreadKoids::new(id.process.into(), id.thread.into()));
        let backtrace = Backtrace { ticks, thread, frames: frames[..].into() };
        mapped.and(sink.record(&backtrace.into()))
    }
}

impl Image {
    /// Adds a mapping. Returns `None` if there is no room or there are too many.
    fn map(&mut self, room: &mut usize, mapping: Mapping) -> Option<()> {
        let Self { space, written, tables, loaded, is_loaded, .. } = self;
        for replaced in Space::change(space, room, mapping)? {
            written.remove(&replaced.start);
            if loaded.remove(&replaced.start) {
                tables.remove(&replaced);
            }
        }
        *is_loaded = false;
        Some(())
    }

    /// Adds the tables of all mappings.
    fn load(&mut self, process: u32, limits: &mut Limits<'_>) {
        let Self { space, tables, loaded, bytes, .. } = self;
        if std::mem::replace(&mut self.is_loaded, true) {
            return;
        }
        for mapping in space.mappings() {
            if loaded.contains(&mapping.start) {
                continue;
            }
            if !limits.take(mapping.bytes(), 0) {
                continue;
            }
            *bytes += mapping.bytes();
            tables.add(mapping, &limits.files.get(process, mapping));
            loaded.insert(mapping.start);
        }
    }

    /// Writes the mappings of a stack's addresses that have no records yet.
    fn write_all<S: RecordSink>(
        &mut self,
        now: u64,
        process: u32,
        frames: &[u64],
        limits: &mut Limits<'_>,
        sink: &mut S,
    ) -> Result<(), WriteError> {
        let space = Arc::clone(&self.space);
        // A call may be the last instruction of its mapping.
        let addresses = frames.iter().flat_map(|frame| [*frame, frame.saturating_sub(1)]);
        addresses.filter_map(|address| space.at(address)).try_for_each(|mapping| {
            match self.written.contains(&mapping.start) {
                true => Ok(()),
                false => self.write(now, process, mapping, limits, sink),
            }
        })
    }

    /// Writes a mapping with its module. One that existed at the start has the time `now`.
    fn write<S: RecordSink>(
        &mut self,
        now: u64,
        process: u32,
        mapping: &Mapping,
        limits: &mut Limits<'_>,
        sink: &mut S,
    ) -> Result<(), WriteError> {
        if !limits.take(RECORD_BYTES, RECORD_BYTES) {
            return Ok(());
        }
        self.bytes += RECORD_BYTES;
        self.written.insert(mapping.start);
        let file = limits.files.get(process, mapping);
        let ticks = if mapping.ticks == 0 { now } else { mapping.ticks };
        let key = (Arc::clone(&mapping.path), file.build_id.clone());
        let process = Process::Inline(process.into());
        let (known, next) = (self.modules.get(&key).copied(), self.modules.len());
        // Ids have 16 bits.
        let Some(module_id) = known.or(u16::try_from(next).ok()) else {
            *limits.omitted += 1;
            return Ok(());
        };
        let size = if known.is_some() { 0 } else { module_bytes(&key.0, &key.1) };
        if !limits.take(size, size) {
            return Ok(());
        }
        self.bytes += size;
        if known.is_none() {
            let (name, build_id) = (mapping.path.as_os_str().as_bytes(), &*file.build_id);
            let module = Module { ticks, process, module_id, name, build_id };
            sink.record(&module.into())?;
            self.modules.insert(key, module_id);
        }
        let Mapping { start, length, offset, protection: flags, .. } = *mapping;
        let module_address = file.address(offset, length).unwrap_or(offset);
        let mmap = Mmap { ticks, process, module_id, flags, start, length, module_address };
        sink.record(&mmap.into())
    }
}

impl Limits<'_> {
    /// Uses memory and output. If there is not enough, it counts what is left out.
    fn take(&mut self, memory: usize, output: usize) -> bool {
        match self.room.checked_sub(memory).zip(self.output.checked_sub(output)) {
            Some((room, output)) => {
                (*self.room, *self.output) = (room, output);
                true
            }
            None => {
                *self.omitted += 1;
                false
            }
        }
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
        let image = images.images.get(&process);
        let mappings = image.into_iter().flat_map(|image| image.space.mappings());
        mappings.filter_map(|mapping| mapping.path.to_str()).collect()
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
        assert_eq!(paths(&images, 7), ["/a", "/d", "/b", "/c"]);
    }

    #[test]
    fn all_room_is_free_again_without_processes() {
        let mut images = Images::recorded();
        let before = images.room;
        let (kernel, frame) = (u32::MAX, vec![0x9010]);
        images.map_kernel(1, &mapped(kernel, 0x9000, "[kernel]"));
        let with_kernel = images.room;
        images.map(1, &mapped(7, 0x1000, "/a"));
        images.fork(8, 7);
        images.map(2, &mapped(8, 0x2000, "/b"));
        images.exec(7);
        images.fork(9, 8);
        let mut archive = trace_format::Writer::new(Vec::new()).unwrap();
        for process in [7, 8, 9, 10] {
            let id = SampleId { process, thread: process, time: 5, cpu: 0 };
            let registers = vec![0; super::super::unwind::REGISTERS.count_ones() as usize];
            let sample = StackSample { chain: frame.clone(), registers, ..Default::default() };
            images.sample(5, id, &sample, &mut archive).unwrap();
        }
        assert!(images.room < with_kernel && with_kernel < before);
        [7, 8, 9, 10].into_iter().for_each(|process| images.remove(process));
        assert_eq!((images.room, images.omitted), (with_kernel, 0));
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
