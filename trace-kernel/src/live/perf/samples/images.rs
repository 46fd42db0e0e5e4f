//! The address spaces of sampled processes, and the records of their modules and stacks.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use std::os::unix::ffi::OsStrExt;
use trace_format::{Backtrace, Mmap, Module, Process, Record, Thread, ThreadKoids};

use super::super::record::{MappedFile, SampleId, StackSample};
use super::files::Files;
use super::mapping::Mapping;
use super::maps;
use super::unwind::{ProcessTables, RuleCache};
use crate::fxt::RecordSink;
use crate::live::backend::Output;
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

/// The address spaces of processes.
#[derive(Debug)]
pub(super) struct Images {
    images: HashMap<u32, Image>,
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
        let (images, ended, rules) = Default::default();
        Self { images, ended, files: Files::new(false), rules }
    }
}

impl Images {
    /// Returns the address spaces of the processes of these threads; of all if there are none.
    pub(super) fn new(call_graph: CallGraph, scope: &[u64]) -> Self {
        let process = |thread: &u64| processes::family(*thread).map(|(process, _)| process);
        let processes = match scope {
            [] => processes::all(),
            threads => threads.iter().filter_map(process).collect(),
        };
        let processes = processes.into_iter().filter_map(|process| u32::try_from(process).ok());
        let images = processes.map(|process| (process, Image::existing(process))).collect();
        let files = Files::new(matches!(call_graph, CallGraph::Dwarf { .. }));
        Self { images, files, ..Self::default() }
    }

    /// Gives a process another program.
    pub(super) fn exec(&mut self, process: u32) {
        self.images.insert(process, Image::default());
    }

    /// Gives a new process the address space of its creator.
    pub(super) fn fork(&mut self, process: u32, creator: u32) {
        self.ended.retain(|ended| *ended != process);
        let mappings = self.images.get(&creator).map(|image| image.mappings.clone());
        let mappings = mappings.unwrap_or_default();
        self.images.insert(process, Image { mappings, ..Image::default() });
    }

    /// Forgets a process some time after its end.
    pub(super) fn exit(&mut self, process: u32) {
        self.ended.push_back(process);
        if self.ended.len() > MAX_ENDED {
            if let Some(process) = self.ended.pop_front() {
                self.images.remove(&process);
            }
        }
    }

    /// Adds mapped code, which replaces what was there.
    pub(super) fn map(&mut self, ticks: u64, file: &MappedFile) {
        let path = Path::new(std::ffi::OsStr::from_bytes(&file.path)).into();
        let mapping = Mapping {
            ticks,
            start: file.start,
            length: file.length,
            offset: file.offset,
            protection: (file.protection & 7) as u8,
            build_id: (*file.build_id).into(),
            inode: file.inode,
            path,
        };
        self.images.entry(file.process).or_default().map(mapping);
    }

    /// Writes the stack of a sample, after the mappings of its process that have no records yet.
    pub(super) fn sample(
        &mut self,
        ticks: u64,
        id: SampleId,
        sample: &StackSample,
        output: &mut Output<'_, '_>,
    ) -> Result<(), String> {
        let image = self.images.entry(id.process).or_insert_with(|| Image::existing(id.process));
        let mapped = image.write(ticks, id.process, &mut self.files, output);
        let mut frames = match sample.registers.is_empty() {
            true => user_frames(&sample.chain),
            false => image.tables.frames(sample, &mut self.rules, MAX_FRAMES),
        };
        frames.truncate(MAX_FRAMES);
        let thread = Thread::Inline(ThreadKoids::new(id.process.into(), id.thread.into()));
        let backtrace = Backtrace { ticks, thread, frames: frames[..].into() };
        let written = output.sink.record(&backtrace.into()).map_err(|error| error.to_string());
        mapped.and(written)
    }
}

impl Image {
    /// Returns the address space of a process that exists already.
    fn existing(process: u32) -> Self {
        Self { mappings: maps::read(process), ..Self::default() }
    }

    fn map(&mut self, mapping: Mapping) {
        let mut place = 0;
        let (mut written, tables) = (self.written, &mut self.tables);
        self.mappings.retain(|other| {
            let is_replaced = other.overlaps(&mapping);
            if is_replaced && place < self.written {
                written -= 1;
                tables.remove(other);
            }
            place += 1;
            !is_replaced
        });
        self.written = written;
        if self.mappings.len() < MAX_MAPPINGS {
            self.mappings.push(mapping);
        }
    }

    /// Writes the mappings that have no records yet, with their modules. Those that existed at the
    /// start have the time `now`.
    fn write(
        &mut self,
        now: u64,
        process: u32,
        files: &mut Files,
        output: &mut Output<'_, '_>,
    ) -> Result<(), String> {
        let mut result = Ok(());
        let Self { mappings, written, modules, tables } = self;
        for mapping in mappings.get(*written..).unwrap_or_default() {
            let file = files.get(process, mapping);
            tables.add(mapping, &file);
            let process = Process::Inline(process.into());
            let ticks = if mapping.ticks == 0 { now } else { mapping.ticks };
            let next = modules.len();
            let key = (Arc::clone(&mapping.path), file.build_id.clone());
            let module_id = match (modules.get(&key), u16::try_from(next)) {
                (Some(module_id), _) => *module_id,
                (None, Ok(module_id)) => {
                    let build_id = &*file.build_id;
                    let name = mapping.path.as_os_str().as_bytes();
                    let module = Module { ticks, process, module_id, name, build_id };
                    result = result.and(write(output, &module.into()));
                    modules.insert(key, module_id);
                    module_id
                }
                // Ids have 16 bits.
                (None, Err(_)) => continue,
            };
            let Mapping { start, length, offset, protection: flags, .. } = *mapping;
            let module_address = file.address(offset, length).unwrap_or(offset);
            let mmap = Mmap { ticks, process, module_id, flags, start, length, module_address };
            result = result.and(write(output, &mmap.into()));
        }
        *written = mappings.len();
        result
    }
}

fn write(output: &mut Output<'_, '_>, record: &Record<'_>) -> Result<(), String> {
    output.sink.record(record).map_err(|error| error.to_string())
}

/// Returns the addresses without the marks of the kernel.
fn user_frames(chain: &[u64]) -> Vec<u64> {
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
        assert_eq!(user_frames(&[-512_i64 as u64, 0x10, 0x20]), [0x10, 0x20]);
    }
}
