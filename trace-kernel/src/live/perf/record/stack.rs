//! Samples: `PERF_RECORD_SAMPLE`.

use super::fields::Fields;

/// The fields of samples after their `sample_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleLayout {
    pub(crate) has_chain: bool,
    /// The number of registers.
    pub(crate) registers: u8,
    pub(crate) has_stack: bool,
}

/// The stack of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackSample {
    /// The addresses by frame pointers, innermost first, with marks of the kernel.
    pub(crate) chain: Vec<u64>,
    /// The registers in user mode; none of a thread of the kernel.
    pub(crate) registers: Vec<u64>,
    /// The bytes from the stack pointer on.
    pub(crate) stack: Vec<u8>,
}

impl StackSample {
    pub(super) fn parse(mut fields: Fields<'_>, layout: SampleLayout) -> Option<Self> {
        let mut sample = Self::default();
        if layout.has_chain {
            let number = fields.u64()?;
            sample.chain = fields.words(number)?;
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
