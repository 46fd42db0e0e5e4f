//! The kernel refuses to copy no registers, so no stack is unwound on this CPU.

use super::super::record::StackSample;
use super::files::MappedCode;
use super::mapping::Mapping;

/// No registers.
pub(crate) const REGISTERS: u64 = 0;

/// No unwind tables.
#[derive(Debug, Default)]
pub(super) struct ProcessTables;

/// No state of unwinding.
#[derive(Debug, Default)]
pub(super) struct RuleCache;

impl ProcessTables {
    pub(super) fn add(&mut self, _mapping: &Mapping, _file: &MappedCode) {}

    pub(super) fn remove(&mut self, _mapping: &Mapping) {}

    pub(super) fn frames(
        &self,
        _sample: &StackSample,
        _cache: &mut RuleCache,
        _limit: usize,
    ) -> Vec<u64> {
        Vec::new()
    }
}
