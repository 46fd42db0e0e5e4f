//! Samples of call stacks, with the names of functions.
//!
//! Frames and stacks are interned, as strings are. When they exceed a limit, the interned data are
//! cleared, and the next samples intern them again.

use std::collections::HashMap;
use std::hash::Hash;

use trace_analyze::objects::Objects;
use trace_format::{Backtrace, Item};

use super::message::{
    Callstack, Frame, InternedBytes, InternedData, InternedString, Mapping, PerfSample,
};
use crate::images::{CodeAddress, CodeModule, Images, Place};
use crate::symbols::{unnamed, Symbols};
use crate::weights::Weights;

/// The most memory of interned data, in bytes.
const MAX_BYTES: usize = if cfg!(test) { 1 << 12 } else { 64 << 20 };

/// The samples of a trace.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) images: Images,
    pub(super) symbols: Symbols,
    pub(super) weights: Weights,
    interned: Interned,
    /// The sum of the weights of the samples so far.
    count: u64,
}

/// A sample with the data that it interns.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) sample: PerfSample,
    pub(super) data: Option<Box<InternedData>>,
    /// Whether it is the first one after the interned data were cleared.
    pub(super) is_first: bool,
}

/// What is interned since the last time that it was cleared.
#[derive(Debug, Default)]
struct Interned {
    /// The entries that the next packet has.
    new: InternedData,
    /// The last id of all tables. None is used again.
    last: u64,
    /// The memory of the tables, in bytes.
    bytes: usize,
    /// Whether a packet has the first entries.
    is_started: bool,
    functions: HashMap<String, u64>,
    sources: HashMap<String, u64>,
    paths: HashMap<String, u64>,
    /// By module; `None` for addresses outside of all modules.
    mappings: HashMap<Option<u32>, u64>,
    /// The frames at each address, the outermost first.
    addresses: HashMap<Address, Box<[u64]>>,
    stacks: HashMap<Box<[u64]>, u64>,
}

/// The key of an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Address {
    Code(CodeAddress),
    Named(u64, String),
    Unknown(u64),
}

impl Samples {
    pub(super) fn new(symbols: Symbols) -> Self {
        Self { symbols, ..Self::default() }
    }

    /// Returns the sample of a thread with these ids.
    pub(super) fn sample(
        &mut self,
        objects: &Objects,
        item: &Item<'_>,
        backtrace: &Backtrace<'_>,
        (pid, tid): (i32, i32),
    ) -> Sample {
        let Self { images, symbols, weights, interned, count } = self;
        interned.clear_if_full();
        let places = images.places(objects, item, backtrace);
        let innermost_first: Vec<_> = backtrace.frames.iter().zip(places).collect();
        let mut stack = Vec::new();
        for (address, place) in innermost_first.into_iter().rev() {
            stack.extend_from_slice(interned.address(address, place, images, symbols));
        }
        *count = count.saturating_add(weights.take(item, backtrace));
        let sample = PerfSample {
            pid: Some(pid as u32),
            tid: Some(tid as u32),
            callstack_iid: (!stack.is_empty()).then(|| interned.stack(stack)),
            timebase_count: Some(*count),
        };
        let (data, is_first) = interned.take_new();
        Sample { sample, data, is_first }
    }
}

impl Interned {
    fn clear_if_full(&mut self) {
        if self.bytes > MAX_BYTES {
            *self = Self { last: self.last, ..Self::default() };
        }
    }

    /// Returns the new entries, and whether they are the first ones.
    fn take_new(&mut self) -> (Option<Box<InternedData>>, bool) {
        let data = std::mem::take(&mut self.new);
        let has_data = data != InternedData::default();
        (has_data.then(|| data.into()), !std::mem::replace(&mut self.is_started, true))
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Returns the ids of the frames at an address, the outermost first.
    fn address(
        &mut self,
        address: u64,
        place: Place<'_>,
        images: &Images,
        symbols: &mut Symbols,
    ) -> &[u64] {
        let key = match place {
            Place::Code(code) => Address::Code(code),
            Place::Named(name) => Address::Named(address, name.to_owned()),
            Place::Unknown(_) => Address::Unknown(address),
        };
        if !self.addresses.contains_key(&key) {
            let frames: Box<[u64]> = match &key {
                Address::Code(code) => self.code(*code, images, symbols),
                Address::Named(address, name) => [self.outside(*address, name)].into(),
                Address::Unknown(address) => {
                    [self.outside(*address, &format!("{address:#x}"))].into()
                }
            };
            self.bytes += size_of::<Address>() + size_of_val(&*frames);
            self.addresses.insert(key.clone(), frames);
        }
        self.addresses.get(&key).map(|frames| &**frames).unwrap_or_default()
    }

    /// Returns the frames at an address of a module.
    fn code(&mut self, code: CodeAddress, images: &Images, symbols: &mut Symbols) -> Box<[u64]> {
        let CodeAddress { module: number, address } = code;
        let Some(module) = images.module(number) else { return Box::default() };
        let mapping_id = Some(self.mapping(number, module));
        let frames = symbols.frames(module, address);
        if frames.is_empty() {
            let function_name_id = Some(self.function(&unnamed(module, address)));
            let rel_pc = Some(address);
            let frame = Frame { function_name_id, mapping_id, rel_pc, ..Frame::default() };
            return [self.frame(frame)].into();
        }
        let frames = frames.iter().rev().map(|frame| {
            let frame = Frame {
                function_name_id: Some(self.function(&frame.function)),
                mapping_id,
                rel_pc: Some(address),
                source_path_iid: frame.file.as_ref().map(|file| self.source(file)),
                line_number: frame.line,
                ..Frame::default()
            };
            self.frame(frame)
        });
        frames.collect()
    }

    /// Returns a frame outside of all modules.
    fn outside(&mut self, address: u64, name: &str) -> u64 {
        let mapping_id = match self.mappings.get(&None) {
            Some(mapping) => *mapping,
            None => {
                let iid = self.next();
                self.mappings.insert(None, iid);
                self.new.mappings.push(Mapping { iid: Some(iid), ..Mapping::default() });
                iid
            }
        };
        let function_name_id = Some(self.function(name));
        let (mapping_id, rel_pc) = (Some(mapping_id), Some(address));
        self.frame(Frame { function_name_id, mapping_id, rel_pc, ..Frame::default() })
    }

    fn frame(&mut self, frame: Frame) -> u64 {
        let iid = self.next();
        self.new.frames.push(Frame { iid: Some(iid), ..frame });
        iid
    }

    fn function(&mut self, name: &str) -> u64 {
        let Self { functions, new, last, bytes, .. } = self;
        string(functions, &mut new.function_names, (last, bytes), name)
    }

    fn source(&mut self, path: &str) -> u64 {
        let Self { sources, new, last, bytes, .. } = self;
        string(sources, &mut new.source_paths, (last, bytes), path)
    }

    fn mapping(&mut self, number: u32, module: &CodeModule) -> u64 {
        if let Some(mapping) = self.mappings.get(&Some(number)) {
            return *mapping;
        }
        let (iid, build_id) = (self.next(), self.next());
        let bytes = Some(module.build_id.to_vec());
        self.new.build_ids.push(InternedBytes { iid: Some(build_id), bytes });
        let Self { paths, new, last, bytes, .. } = self;
        let parts = module.name.split('/').filter(|part| !part.is_empty());
        let path_string_ids = parts
            .map(|part| string(paths, &mut new.mapping_paths, (&mut *last, &mut *bytes), part))
            .collect();
        let mapping = Mapping { iid: Some(iid), build_id: Some(build_id), path_string_ids };
        self.new.mappings.push(mapping);
        self.bytes += module.name.len() + module.build_id.len();
        self.mappings.insert(Some(number), iid);
        iid
    }

    fn stack(&mut self, frame_ids: Vec<u64>) -> u64 {
        let key: Box<[u64]> = (&*frame_ids).into();
        if let Some(stack) = self.stacks.get(&key) {
            return *stack;
        }
        let iid = self.next();
        self.bytes += 2 * size_of_val(&*key);
        self.stacks.insert(key, iid);
        self.new.callstacks.push(Callstack { iid: Some(iid), frame_ids });
        iid
    }
}

/// Returns the id of a string.
fn string(
    table: &mut HashMap<String, u64>,
    new: &mut Vec<InternedString>,
    (last, bytes): (&mut u64, &mut usize),
    text: &str,
) -> u64 {
    /// The memory of an entry besides its text.
    const OVERHEAD: usize = 64;
    if let Some(iid) = table.get(text) {
        return *iid;
    }
    *last += 1;
    *bytes += text.len() + OVERHEAD;
    table.insert(text.to_owned(), *last);
    new.push(InternedString { iid: Some(*last), text: Some(text.to_owned()) });
    *last
}
