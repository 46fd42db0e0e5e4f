//! Stacks by the unwind tables of the mapped files.

use std::fmt;
use std::sync::Arc;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, UnwindRegsNative,
    Unwinder, UnwinderNative,
};

use super::super::record::StackSample;
use super::files::MappedCode;
use super::mapping::Mapping;

/// The registers of `sample_regs_user`: BP, SP and IP.
#[cfg(target_arch = "x86_64")]
pub(crate) const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

/// The registers of `sample_regs_user`: the frame pointer, the link register, SP and PC.
#[cfg(target_arch = "aarch64")]
pub(crate) const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

/// The unwind tables of a process.
#[derive(Default)]
pub(super) struct ProcessTables(UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>);

/// What unwinding has found out about addresses, for all processes.
#[derive(Default)]
pub(super) struct RuleCache(CacheNative<MayAllocateDuringUnwind>);

impl ProcessTables {
    /// Adds the tables of a mapped file.
    pub(super) fn add(&mut self, mapping: &Mapping, file: &MappedCode) {
        let address = file.address(mapping.offset, mapping.length);
        let base = address.and_then(|address| mapping.start.checked_sub(address));
        let end = mapping.start.checked_add(mapping.length);
        let (Some(base), Some(end)) = (base, end) else { return };
        let tables = &file.tables;
        let range =
            |section: &Option<(_, _)>| section.as_ref().map(|(range, _)| Clone::clone(range));
        let bytes =
            |section: &Option<(_, Arc<[u8]>)>| section.as_ref().map(|(_, bytes)| Arc::clone(bytes));
        let sections = ExplicitModuleSectionInfo {
            text_svma: tables.text.clone(),
            got_svma: tables.got.clone(),
            eh_frame_svma: range(&tables.eh_frame),
            eh_frame: bytes(&tables.eh_frame),
            eh_frame_hdr_svma: range(&tables.eh_frame_hdr),
            eh_frame_hdr: bytes(&tables.eh_frame_hdr),
            debug_frame: tables.debug_frame.clone(),
            ..ExplicitModuleSectionInfo::default()
        };
        let name = mapping.path.to_string_lossy().into_owned();
        self.0.add_module(Module::new(name, mapping.start..end, base, sections));
    }

    /// Removes the tables of a mapping.
    pub(super) fn remove(&mut self, mapping: &Mapping) {
        self.0.remove_module(mapping.start);
    }

    /// Returns the addresses of a stack, innermost first, at most `limit`. Those that the copied
    /// part of the stack does not have are left out.
    pub(super) fn frames(
        &self,
        sample: &StackSample,
        cache: &mut RuleCache,
        limit: usize,
    ) -> Vec<u64> {
        let Some((address, registers, pointer)) = registers(&sample.registers) else {
            return Vec::new();
        };
        let mut read = |address: u64| {
            let offset = address.checked_sub(pointer).ok_or(())?;
            let rest = sample.stack.get(usize::try_from(offset).map_err(drop)?..).ok_or(())?;
            rest.first_chunk().map(|word| u64::from_ne_bytes(*word)).ok_or(())
        };
        let mut iterator = self.0.iter_frames(address, registers, &mut cache.0, &mut read);
        let next = || iterator.next().ok().flatten().map(|frame| frame.address());
        std::iter::from_fn(next).take(limit).collect()
    }
}

/// Returns the address of the instruction, the registers, and the stack pointer.
#[cfg(target_arch = "x86_64")]
fn registers(values: &[u64]) -> Option<(u64, UnwindRegsNative, u64)> {
    let [frame, stack, address] = *values.first_chunk()?;
    Some((address, UnwindRegsNative::new(address, stack, frame), stack))
}

#[cfg(target_arch = "aarch64")]
fn registers(values: &[u64]) -> Option<(u64, UnwindRegsNative, u64)> {
    let [frame, link, stack, address] = *values.first_chunk()?;
    Some((address, UnwindRegsNative::new(link, stack, frame), stack))
}

impl fmt::Debug for ProcessTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessTables").finish_non_exhaustive()
    }
}

impl fmt::Debug for RuleCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tables_frame_pointers_are_followed() {
        // Two frames on the stack at 0x1000, each with the frame before it and its return address.
        let words = [0x1020_u64, 0x4000, 0, 0, 0, 0x5000];
        let stack: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        #[cfg(target_arch = "x86_64")]
        let registers = vec![0x1000, 0x1000, 0x3000];
        #[cfg(target_arch = "aarch64")]
        let registers = vec![0x1000, 0x3500, 0x1000, 0x3000];
        let sample = StackSample {
            chain: Vec::new(),
            raw: Vec::new(),
            branches: Vec::new(),
            registers,
            stack,
        };
        let frames = ProcessTables::default().frames(&sample, &mut RuleCache::default(), 9);
        assert_eq!(frames[0], 0x3000);
        assert!(frames.ends_with(&[0x4000, 0x5000]), "{frames:x?}");
        let empty = StackSample::default();
        assert_eq!(ProcessTables::default().frames(&empty, &mut RuleCache::default(), 9), [0; 0]);
    }
}
