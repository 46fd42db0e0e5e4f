//! Breakpoints in the code of a process.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::blocks::BREAKPOINT;
use super::branch::Branch;
use crate::flow::DecodedInstruction;

/// A branch with a breakpoint in place of its first byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plant {
    original: u8,
    pub(super) branch: Branch,
    pub(super) decoded: DecodedInstruction,
}

/// The breakpoints of an address space.
///
/// They are at branches only, and the tracer executes these branches: no thread ever requires the
/// original byte, so that breakpoints stay while any number of threads run.
#[derive(Debug, Default)]
pub(super) struct Plants {
    planted: BTreeMap<u64, Plant>,
    /// Where breakpoints were. A thread may have executed one before it was removed.
    former: HashSet<u64>,
    /// Where there is never a breakpoint.
    refused: HashSet<u64>,
}

impl Plants {
    /// Returns the breakpoint at `address`.
    pub(super) fn at(&self, address: u64) -> Option<&Plant> {
        self.planted.get(&address)
    }

    /// Returns the breakpoints at these addresses.
    pub(super) fn addresses_in(&self, addresses: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        self.planted.range(addresses).map(|(address, _)| *address)
    }

    /// Returns whether there are breakpoints at these addresses.
    pub(super) fn any_in(&self, addresses: Range<u64>) -> bool {
        self.addresses_in(addresses).next().is_some()
    }

    /// Replaces breakpoints in `bytes`, which were read from `start`, by the original code. Those
    /// that the program has overwritten are forgotten.
    pub(super) fn show_original(&mut self, start: u64, bytes: &mut [u8]) {
        let end = start.saturating_add(bytes.len() as u64);
        let mut overwritten = Vec::new();
        for (address, plant) in self.planted.range(start..end) {
            match bytes.get_mut((address - start) as usize) {
                Some(byte) if *byte == BREAKPOINT => *byte = plant.original,
                _ => overwritten.push(*address),
            }
        }
        for address in overwritten {
            self.planted.remove(&address);
            self.former.insert(address);
        }
    }

    /// Returns whether there may be a breakpoint at `address`.
    pub(super) fn permits(&self, address: u64) -> bool {
        !self.refused.contains(&address)
    }

    /// Never again sets a breakpoint at `address`.
    pub(super) fn refuse(&mut self, address: u64) {
        self.refused.insert(address);
    }

    /// Sets a breakpoint at a branch that begins with the byte `original`, unless there is one.
    /// Returns whether there is one now.
    pub(super) fn set(
        &mut self,
        memory: &File,
        original: u8,
        branch: Branch,
        decoded: DecodedInstruction,
    ) -> bool {
        let address = decoded.0.ip;
        if self.planted.contains_key(&address) {
            return true;
        }
        if memory.write_all_at(&[BREAKPOINT], address).is_err() {
            self.refuse(address);
            return false;
        }
        self.planted.insert(address, Plant { original, branch, decoded });
        true
    }

    /// Removes the breakpoints at these addresses.
    pub(super) fn remove(&mut self, memory: &File, addresses: Range<u64>) {
        let found: Vec<_> = self.planted.range(addresses).map(|(at, it)| (*at, *it)).collect();
        for (address, plant) in found {
            self.planted.remove(&address);
            self.former.insert(address);
            if is_breakpoint(memory, address) {
                // This fails only if the code is no longer mapped.
                let _ = memory.write_all_at(&[plant.original], address);
            }
        }
    }

    /// Forgets where breakpoints were, or may not be, except where `is_kept` holds.
    pub(super) fn forget(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.former.retain(|address| is_kept(*address));
        self.refused.retain(|address| is_kept(*address));
    }

    /// Returns whether a breakpoint that was executed at `address` was ours.
    pub(super) fn had(&self, memory: &File, address: u64) -> bool {
        let was = self.former.contains(&address);
        self.planted.contains_key(&address) || was && !is_breakpoint(memory, address)
    }
}

fn is_breakpoint(memory: &File, address: u64) -> bool {
    let mut byte = [0];
    memory.read_exact_at(&mut byte, address).is_ok() && byte == [BREAKPOINT]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::decode_bytes;

    /// A jump, 3 bytes, a return, and another jump.
    const CODE: [u8; 8] = [0xeb, 0, 0x90, 0x90, 0x90, 0xc3, 0xeb, 0];

    fn memory() -> File {
        let memory = tempfile::tempfile().unwrap();
        memory.write_all_at(&CODE, 0).unwrap();
        memory
    }

    fn set(plants: &mut Plants, memory: &File, at: usize) -> bool {
        let branch = Branch::decode(at as u64, &CODE[at..]).unwrap();
        let decoded = decode_bytes(at as u64, 64, &CODE[at..]).unwrap();
        plants.set(memory, CODE[at], branch, decoded)
    }

    fn bytes(memory: &File) -> Vec<u8> {
        let mut bytes = vec![0; CODE.len()];
        memory.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    #[test]
    fn breakpoints_are_not_part_of_the_code() {
        let (memory, mut plants) = (memory(), Plants::default());
        assert!(set(&mut plants, &memory, 5) && set(&mut plants, &memory, 6));
        let mut found = bytes(&memory);
        assert_eq!(found, [0xeb, 0, 0x90, 0x90, 0x90, 0xcc, 0xcc, 0]);
        plants.show_original(0, &mut found);
        assert_eq!(found, CODE);
        plants.remove(&memory, 6..7);
        assert!(plants.any_in(0..6) && !plants.any_in(6..9));
        assert!(plants.had(&memory, 5) && plants.had(&memory, 6) && !plants.had(&memory, 0));
        plants.remove(&memory, 0..u64::MAX);
        assert_eq!(bytes(&memory), CODE);
    }

    #[test]
    fn code_that_the_program_has_written_stays() {
        let (memory, mut plants) = (memory(), Plants::default());
        assert!(set(&mut plants, &memory, 0) && set(&mut plants, &memory, 5));
        memory.write_all_at(&[0x90], 0).unwrap();
        plants.remove(&memory, 0..1);
        memory.write_all_at(&[0xc3, 0x90], 4).unwrap();
        let mut found = bytes(&memory);
        plants.show_original(0, &mut found);
        assert_eq!(found, [0x90, 0, 0x90, 0x90, 0xc3, 0x90, 0xeb, 0]);
        assert!(plants.at(5).is_none());
        assert!(plants.had(&memory, 5), "a thread may have executed it before");
        memory.write_all_at(&[BREAKPOINT], 0).unwrap();
        assert!(!plants.had(&memory, 0), "the program's own");
    }
}
