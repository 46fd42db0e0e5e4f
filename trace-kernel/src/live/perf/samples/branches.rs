//! Last-branch records: the branches that a CPU took before a sample, as blobs.
//!
//! ```text
//!   u16   u16      u32        u64    u64       then for each branch, the newest first
//! ┌─────┬────────┬──────────┬──────┬─────────┬──────┬──────┬─────────────────────────┐
//! │ CPU │ number │ reserved │ time │ process │ from │ to   │ cycles, is mispredicted │
//! └─────┴────────┴──────────┴──────┴─────────┴──────┴──────┴─────────────────────────┘
//!                             ticks            u64    u64    bits 0 to 15, bit 16
//! ```
//!
//! It is Fuchsia's layout, with the process in place of the address space. All numbers are
//! little-endian.

use trace_format::layout::{BlobType, MAX_BLOB_BYTES};
use trace_format::{Blob, WriteError};

use crate::fxt::RecordSink;
use crate::live::perf::record::{Branch, SampleId};

/// The bytes before the branches, and those of a branch.
const HEADER_BYTES: usize = 24;
const BRANCH_BYTES: usize = 24;

/// The most branches of a blob. CPUs record 32 or less.
const MAX_BRANCHES: usize = (MAX_BLOB_BYTES - HEADER_BYTES) / BRANCH_BYTES;

/// The bit of a branch that the CPU has not predicted.
const MISPREDICTED: u64 = 1 << 16;

/// Writes the branches before a sample.
pub(super) fn write<S: RecordSink>(
    sink: &mut S,
    ticks: u64,
    id: SampleId,
    branches: &[Branch],
) -> Result<(), WriteError> {
    if branches.is_empty() {
        return Ok(());
    }
    let (name, payload) = (format!("cpu{}", id.cpu), encode(ticks, id, branches));
    let (name, payload) = (name.as_str().into(), payload.as_slice());
    sink.record(&Blob { name, blob_type: BlobType::LAST_BRANCH, payload }.into())
}

fn encode(ticks: u64, id: SampleId, branches: &[Branch]) -> Vec<u8> {
    let branches = branches.get(..MAX_BRANCHES).unwrap_or(branches);
    let mut bytes = Vec::with_capacity(HEADER_BYTES + branches.len() * BRANCH_BYTES);
    bytes.extend((id.cpu as u16).to_le_bytes());
    bytes.extend((branches.len() as u16).to_le_bytes());
    bytes.extend([0; 4]);
    for word in [ticks, id.process.into()] {
        bytes.extend(word.to_le_bytes());
    }
    for branch in branches {
        let mispredicted = if branch.is_mispredicted() { MISPREDICTED } else { 0 };
        for word in [branch.from, branch.to, u64::from(branch.cycles()) | mispredicted] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use trace_format::{Reader, Record, Writer};

    use super::*;

    #[test]
    fn branches_are_a_blob_of_their_cpu() {
        let id = SampleId { process: 0x0708, thread: 9, time: 0, cpu: 3 };
        let branches = [Branch::new(0x1122, 0x3344, 0x55, true), Branch::new(1, 2, 0, false)];
        let mut writer = Writer::new(Vec::new()).unwrap();
        write(&mut writer, 0x66, id, &branches).unwrap();
        write(&mut writer, 0x66, id, &[]).unwrap();
        let archive = writer.into_inner();
        let mut reader = Reader::new(&*archive);
        let mut blobs = 0;
        while let Some(item) = reader.next().unwrap() {
            let Record::Blob(blob) = &item.record else { continue };
            blobs += 1;
            assert_eq!(
                (item.text(blob.name), blob.blob_type),
                ("cpu3".into(), BlobType::LAST_BRANCH)
            );
            let words =
                [0x0000_0000_0002_0003_u64, 0x66, 0x0708, 0x1122, 0x3344, 0x1_0055, 1, 2, 0];
            assert_eq!(blob.payload, words.map(u64::to_le_bytes).as_flattened());
        }
        assert_eq!(blobs, 1);
    }

    #[test]
    fn more_branches_than_fit_are_left_out() {
        let id = SampleId { process: 7, thread: 9, time: 0, cpu: 3 };
        let branches = vec![Branch::new(1, 2, 0, false); 2 * MAX_BRANCHES];
        assert!(encode(1, id, &branches).len() <= MAX_BLOB_BYTES);
    }
}
