//! The code of an address space, read from the memory of a process.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::blocks::Blocks;
use super::maps::{self, page_of, CodeMapping, Mappings, PAGE_BYTES};
use super::plants::Plants;
use super::ptrace::Tid;
use super::range::TracedRange;
use super::traced_calls::Places;
use crate::flow::{decode_bytes, DecodedInstruction, Image, MAX_INSTRUCTION_BYTES};
use crate::recording::{Mapping, Note, SpaceId};
use crate::symbols;

/// The number of instructions from which on those that are not mapped any more are forgotten.
const MANY_INSTRUCTIONS: usize = 1 << 16;

/// The number of copied bytes from which on those that are not mapped any more are forgotten: each
/// small function that a program generates may be in a page of its own.
const MUCH_CODE: usize = 4 << 20;

/// The bit of the trap flag in the second byte of RFLAGS.
const TRAP_FLAG: u8 = 1;

type Bytes = [u8; MAX_INSTRUCTION_BYTES];

/// An instruction that was executed.
#[derive(Debug, Clone, Copy)]
struct Executed {
    bytes: Bytes,
    decoded: DecodedInstruction,
    /// The version of the code in which the image had it.
    version: u64,
}

/// An address space: its executed code, and what is known of its mappings.
#[derive(Debug)]
pub(super) struct Space {
    id: SpaceId,
    pub(super) memory: File,
    /// The newest code.
    image: Image,
    /// The number of bytes that were copied to the image, since it was last made smaller.
    copied: usize,
    /// The number of bytes at which code that is not mapped is forgotten next.
    most_copied: usize,
    /// Counts changes of code that was copied before.
    version: u64,
    /// Addresses that have all code which was copied and then forgotten, as it is known to those
    /// who decode the trace.
    forgotten: Option<Range<u64>>,
    decoded: HashMap<u64, Executed>,
    /// The number of instructions at which code that is not mapped is forgotten next.
    most_decoded: usize,
    mappings: Mappings,
    /// The last mapping of each place, also where there is none any more.
    former: Vec<Mapping>,
    /// The traced ranges, or none if all code is traced.
    ranges: Vec<TracedRange>,
    /// The addresses of `ranges`, both ends included.
    traced: Vec<(u64, u64)>,
    /// Those of symbols, each with its mapping.
    traced_symbols: Vec<(Mapping, (u64, u64))>,
    pub(super) plants: Plants,
    pub(super) blocks: Blocks,
    /// Breakpoints inside of instructions that were found later.
    pub(super) misplaced: Vec<u64>,
    /// Where threads stop that are traced in a function only.
    pub(super) places: Places,
}

impl Space {
    /// Opens the address space of `tid`, in which only `ranges` are traced.
    pub(super) fn open(id: SpaceId, tid: Tid, ranges: Vec<TracedRange>) -> io::Result<Self> {
        let memory =
            OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", tid.0))?;
        Ok(Self {
            id,
            memory,
            image: Image::new(),
            copied: 0,
            most_copied: MUCH_CODE,
            version: 0,
            forgotten: None,
            decoded: HashMap::new(),
            most_decoded: MANY_INSTRUCTIONS,
            mappings: Mappings::default(),
            former: Vec::new(),
            traced: ranges.iter().filter_map(TracedRange::addresses).collect(),
            traced_symbols: Vec::new(),
            ranges,
            plants: Plants::default(),
            blocks: Blocks::default(),
            misplaced: Vec::new(),
            places: Places::default(),
        })
    }

    pub(super) fn id(&self) -> SpaceId {
        self.id
    }

    /// Returns how often code that was copied before has changed.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Returns whether the instruction at `ip` is traced.
    pub(super) fn traces(&self, ip: u64) -> bool {
        let symbols = self.traced_symbols.iter().map(|(_, addresses)| addresses);
        let mut traced = self.traced.iter().chain(symbols);
        self.ranges.is_empty() || traced.any(|(start, end)| (*start..=*end).contains(&ip))
    }

    /// Returns the instruction at `ip` as it is in memory now, or `None` if there is none. New code
    /// is added to `notes`.
    pub(super) fn fetch(
        &mut self,
        tid: Tid,
        ip: u64,
        notes: &mut Vec<Note>,
    ) -> Option<DecodedInstruction> {
        if std::mem::take(&mut self.blocks.is_stale) {
            self.read_mappings(tid, notes);
        }
        let mut bytes = Bytes::default();
        let size = self.memory.read_at(&mut bytes, ip).ok()?;
        self.plants.show_original(ip, bytes.get_mut(..size)?);
        if let Some(Executed { bytes: known, decoded, version }) = self.decoded.get(&ip) {
            let length = usize::from(decoded.0.length);
            let is_same = length <= size && known.get(..length) == bytes.get(..length);
            if is_same && *version == self.version && self.mapping_of(ip).is_some() {
                return Some(*decoded);
            }
        }
        let decoded = decode_bytes(ip, 64, bytes.get(..size)?).ok()?;
        let code = bytes.get(..usize::from(decoded.0.length))?;
        let inside = ip.saturating_add(1)..ip.saturating_add(code.len() as u64);
        self.misplaced.extend(self.plants.addresses_in(inside));
        self.keep(tid, ip, code, notes);
        self.decoded.insert(ip, Executed { bytes, decoded, version: self.version });
        Some(decoded)
    }

    /// Adds an instruction, with its pages, to the image, if it is new there.
    fn keep(&mut self, tid: Tid, ip: u64, code: &[u8], notes: &mut Vec<Note>) {
        let mut known = Bytes::default();
        let filled = self.image.read(ip, known.get_mut(..code.len()).unwrap_or_default());
        let is_changed = known.get(..filled) != code.get(..filled);
        if filled == code.len() && !is_changed && self.mapping_of(ip).is_some() {
            return;
        }
        if is_changed || self.mapping_of(ip).is_none() {
            self.read_mappings(tid, notes);
        }
        if !self.traces(ip) {
            return;
        }
        let last = ip.saturating_add(code.len() as u64 - 1);
        self.copy_page(ip, notes);
        if page_of(last) != page_of(ip) {
            self.copy_page(last, notes);
        }
        let filled = self.image.read(ip, known.get_mut(..code.len()).unwrap_or_default());
        if filled != code.len() || known.get(..filled) != Some(code) {
            // Another thread changes the page.
            self.insert(ip, code, notes);
        }
    }

    fn copy_page(&mut self, address: u64, notes: &mut Vec<Note>) {
        let mut bytes = [0; PAGE_BYTES as usize];
        if self.memory.read_exact_at(&mut bytes, page_of(address)).is_ok() {
            self.plants.show_original(page_of(address), &mut bytes);
            self.insert(page_of(address), &bytes, notes);
        }
    }

    /// Adds code to the image. If there was other code, whoever decodes the trace needs to know
    /// from where on it is the new one.
    fn insert(&mut self, address: u64, bytes: &[u8], notes: &mut Vec<Note>) {
        let end = address.saturating_add(bytes.len() as u64);
        let is_forgotten = |it: &Range<u64>| address < it.end && it.start < end;
        let may_replace = self.forgotten.as_ref().is_some_and(is_forgotten);
        self.version += u64::from(may_replace || !self.image.agrees(address, bytes));
        self.image.insert(address, bytes);
        self.copied += bytes.len();
        notes.push(Note::Code { space: self.id, address, bytes: bytes.to_vec() });
    }

    /// Returns the known mappings.
    pub(super) fn mappings(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter().map(|known| &known.mapping)
    }

    /// Returns the mapping with the code at `ip`.
    pub(super) fn mapping_of(&self, ip: u64) -> Option<&CodeMapping> {
        self.mappings.at(ip)
    }

    /// Returns whether these addresses have parts of known mappings.
    pub(super) fn has_mappings_in(&self, addresses: &Range<u64>) -> bool {
        self.mappings.any_in(addresses)
    }

    /// Reads the mappings, and adds the new ones to `notes`.
    pub(super) fn read_mappings(&mut self, tid: Tid, notes: &mut Vec<Note>) {
        let Ok(mut mappings) = maps::executable(tid) else {
            // The thread ends: another one reads them.
            self.blocks.is_stale = true;
            return;
        };
        let known = std::mem::take(&mut self.mappings);
        for CodeMapping { mapping, .. } in &mut mappings {
            let same = known.at(mapping.address).map(|known| &known.mapping);
            *mapping = match same.filter(|known| known.is_same_place(mapping)) {
                Some(known) => known.clone(),
                None => self.add_mapping(mapping.clone(), notes),
            };
        }
        self.mappings = Mappings::new(mappings);
        let is_mapped =
            |of: &Mapping| self.mappings.at(of.address).is_some_and(|it| it.mapping == *of);
        self.traced_symbols.retain(|(of, _)| is_mapped(of));
        if self.decoded.len() >= self.most_decoded || self.copied >= self.most_copied {
            self.forget_unmapped();
        }
    }

    /// Forgets code that is not mapped any more, so that memory does not grow with the code that a
    /// program generates.
    fn forget_unmapped(&mut self) {
        let Self { mappings, decoded, .. } = self;
        decoded.retain(|ip, _| mappings.at(*ip).is_some());
        self.plants.forget(|address| mappings.at(address).is_some());
        let is_mapped = |key: &(String, u64)| {
            mappings.iter().any(|CodeMapping { mapping, .. }| mapping.path == key.0)
        };
        self.blocks.restartable.retain(|key, _| is_mapped(key));
        let removed = self.image.retain(|addresses| mappings.any_in(addresses));
        let ranges = [self.forgotten.take(), removed].into_iter().flatten();
        self.forgotten =
            ranges.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end));
        let places = self.former.len();
        self.former.retain(|former| mappings.any_in(&(former.address..former.end())));
        // Other names may follow at the same addresses.
        self.version += u64::from(self.former.len() != places);
        self.most_decoded = MANY_INSTRUCTIONS.max(2 * self.decoded.len());
        self.copied = self.image.sections().map(|(_, bytes)| bytes.len()).sum();
        self.most_copied = MUCH_CODE.max(2 * self.copied);
    }

    fn add_mapping(&mut self, mapping: Mapping, notes: &mut Vec<Note>) -> Mapping {
        let mapping = Mapping { build_id: symbols::build_id(&mapping.path), ..mapping };
        notes.push(Note::Mapping { space: self.id, mapping: mapping.clone() });
        let is_replaced = |former: &Mapping| former.is_replaced_by(&mapping);
        // The code from here on has other names.
        self.version += u64::from(self.former.iter().any(is_replaced));
        self.former.retain(|former| !is_replaced(former) && *former != mapping);
        self.former.push(mapping.clone());
        if mapping.path == symbols::VDSO {
            self.copy_mapping(&mapping, notes);
        }
        let addresses = self.ranges.iter().flat_map(|range| range.addresses_in(&mapping));
        self.traced_symbols.extend(addresses.map(|addresses| (mapping.clone(), addresses)));
        mapping
    }

    /// Copies all pages of a mapping, which has its own symbols.
    fn copy_mapping(&mut self, mapping: &Mapping, notes: &mut Vec<Note>) {
        for page in 0..mapping.size / PAGE_BYTES {
            self.copy_page(mapping.address + page * PAGE_BYTES, notes);
        }
    }

    /// Removes the trap flag from the flags that `pushf` has stored at `sp`, so that a later `popf`
    /// does not set it.
    pub(super) fn clear_pushed_trap_flag(&self, sp: u64) {
        let mut byte = [0];
        let at = sp.wrapping_add(1);
        if self.memory.read_exact_at(&mut byte, at).is_ok() {
            let cleared = byte.map(|byte| byte & !TRAP_FLAG);
            // This fails only if the stack is no longer mapped.
            let _ = self.memory.write_all_at(&cleared, at);
        }
    }

    /// Returns whether an instruction that was decoded before begins before `address` and ends
    /// behind it.
    pub(super) fn is_inside_instruction(&self, address: u64) -> bool {
        let before = 1..MAX_INSTRUCTION_BYTES as u64;
        before
            .filter_map(|back| Some((back, self.decoded.get(&address.checked_sub(back)?)?)))
            .any(|(back, executed)| u64::from(executed.decoded.0.length) > back)
    }

    /// Returns whether the instruction at `ip` is `pushf`.
    pub(super) fn is_pushf(&self, ip: u64) -> bool {
        self.opcode_at(ip) == Some(0x9c)
    }

    /// Returns whether the instruction at `ip` is `int1`.
    pub(super) fn is_int1(&self, ip: u64) -> bool {
        self.opcode_at(ip) == Some(0xf1)
    }

    /// Returns whether the instruction at `ip` is `popf` or `iret`.
    pub(super) fn loads_flags(&self, ip: u64) -> bool {
        matches!(self.opcode_at(ip), Some(0x9d | 0xcf))
    }

    /// Returns the first byte behind the prefixes, which are those of the kernel's
    /// `is_setting_trap_flag`.
    fn opcode_at(&self, ip: u64) -> Option<u8> {
        const PREFIXES: [u8; 11] =
            [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3];
        let is_prefix = |byte: &u8| PREFIXES.contains(byte) || (0x40..=0x4f).contains(byte);
        self.code_at(ip)?.into_iter().find(|byte| !is_prefix(byte))
    }

    /// Returns whether the instruction at `ip` loads SS, so that the next one executes with it.
    pub(super) fn loads_ss(&self, ip: u64) -> bool {
        let is_prefix = |byte: &u8| *byte == 0x66 || (0x40..=0x4f).contains(byte);
        self.code_at(ip).is_some_and(|code| {
            let mut code = code.into_iter().skip_while(is_prefix);
            code.next() == Some(0x8e) && code.next().is_some_and(|operand| operand >> 3 & 7 == 2)
        })
    }

    /// Returns the code of the instruction at `ip`, which was decoded before.
    pub(super) fn code_of(&self, ip: u64) -> Option<&[u8]> {
        let Executed { bytes, decoded, .. } = self.decoded.get(&ip)?;
        bytes.get(..decoded.0.length.into())
    }

    fn code_at(&self, ip: u64) -> Option<Bytes> {
        self.decoded.get(&ip).map(|executed| executed.bytes)
    }
}
