//! Samples: `PERF_RECORD_SAMPLE`.

use super::fields::Fields;

/// The fields of samples after their `sample_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleLayout {
    pub(crate) has_chain: bool,
    pub(crate) has_raw: bool,
    pub(crate) has_branches: bool,
    /// The number of registers.
    pub(crate) registers: u8,
    pub(crate) has_stack: bool,
}

/// The stack of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackSample {
    /// The addresses by frame pointers, innermost first, with marks of the kernel.
    pub(crate) chain: Vec<u64>,
    /// The event of a tracepoint.
    pub(crate) raw: Vec<u8>,
    /// The branches before it, the newest first.
    pub(crate) branches: Vec<Branch>,
    /// The registers in user mode; none of a thread of the kernel.
    pub(crate) registers: Vec<u64>,
    /// The bytes from the stack pointer on.
    pub(crate) stack: Vec<u8>,
}

/// A branch that a CPU has taken: `perf_branch_entry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    pub(crate) from: u64,
    pub(crate) to: u64,
    flags: u64,
}

/// The places of fields in the flags. A bit field begins with the highest bit if the order of bytes
/// is big-endian.
const MISPREDICTED: u32 = if cfg!(target_endian = "big") { 63 } else { 0 };
const CYCLES: u32 = if cfg!(target_endian = "big") { 44 } else { 4 };

impl Branch {
    fn of_words(words: &[u64]) -> Option<Self> {
        let [from, to, flags] = *words.first_chunk()?;
        Some(Self { from, to, flags })
    }

    #[cfg(test)]
    pub(crate) fn new(from: u64, to: u64, cycles: u16, is_mispredicted: bool) -> Self {
        let flags = u64::from(cycles) << CYCLES | u64::from(is_mispredicted) << MISPREDICTED;
        Self { from, to, flags }
    }

    pub(crate) fn is_mispredicted(self) -> bool {
        self.flags >> MISPREDICTED & 1 != 0
    }

    /// Returns the cycles since the branch before it; 0 if they are unknown.
    pub(crate) fn cycles(self) -> u16 {
        (self.flags >> CYCLES) as u16
    }
}

impl StackSample {
    pub(super) fn parse(mut fields: Fields<'_>, layout: SampleLayout) -> Option<Self> {
        let mut sample = Self::default();
        if layout.has_chain {
            let number = fields.u64()?;
            sample.chain = fields.words(number)?;
        }
        if layout.has_raw {
            let size = fields.u32()?;
            sample.raw = fields.bytes(usize::try_from(size).ok()?)?.to_vec();
        }
        if layout.has_branches {
            let number = fields.u64()?.checked_mul(3)?;
            let words = fields.words(number)?;
            sample.branches = words.chunks_exact(3).filter_map(Branch::of_words).collect();
        }
        if layout.registers > 0 && fields.u64()? != 0 {
            sample.registers = fields.words(layout.registers.into())?;
        }
        if layout.has_stack {
            sample.stack = stack(&mut fields)?.to_vec();
        }
        Some(sample)
    }
}

/// Returns the part of the copied bytes that is in use.
fn stack<'a>(fields: &mut Fields<'a>) -> Option<&'a [u8]> {
    let size = usize::try_from(fields.u64()?).ok()?;
    if size == 0 {
        return Some(&[]);
    }
    let bytes = fields.bytes(size)?;
    let used = usize::try_from(fields.u64()?).unwrap_or(usize::MAX);
    bytes.get(..used.min(size))
}
