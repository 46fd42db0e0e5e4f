//! AUX areas whose packets are those of another engine.
#![allow(dead_code)] // Not every test uses all of it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use trace_insntrace::hardware::{Area, AuxArea};

/// An area that was written before it was turned on.
#[derive(Debug)]
pub(crate) struct Replayed {
    packets: Vec<u8>,
    /// A power of two.
    size: usize,
    overwrites: bool,
    pub(crate) tail: u64,
    pub(crate) records: Vec<u8>,
    /// How often the events were turned on.
    pub(crate) starts: u32,
    pub(crate) is_on: bool,
    /// The files of its events.
    pub(crate) files: Vec<OwnedFd>,
}

impl Replayed {
    pub(crate) fn new(packets: Vec<u8>, overwrites: bool) -> io::Result<Self> {
        let (tail, records, starts) = (0, Vec::new(), 0);
        let size = (packets.len() + 1).next_power_of_two();
        // A file is always readable, as an event that has written a record.
        let files = vec![File::open("/dev/zero")?.into()];
        Ok(Self { packets, size, overwrites, tail, records, starts, is_on: false, files })
    }
}

impl Replayed {
    /// Makes the area so large that more packets would fit.
    pub(crate) fn with_space(self) -> Self {
        Self { size: (2 * self.size).max(8192), ..self }
    }
}

impl AuxArea for Replayed {
    fn size(&self) -> usize {
        self.size
    }

    fn head(&self) -> u64 {
        if self.starts == 0 {
            0
        } else {
            self.packets.len() as u64
        }
    }

    fn set_tail(&mut self, tail: u64) {
        assert!(!self.overwrites, "the kernel ignores it");
        assert!(tail >= self.tail);
        self.tail = tail;
    }

    fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize) {
        let byte = |at: usize| self.packets.get(at).copied().unwrap_or(0);
        bytes.extend((start..start + length).map(byte));
    }

    fn take_records(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.records)
    }
}

impl Area for Replayed {
    fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.files.iter().map(AsFd::as_fd)
    }

    fn set_enabled(&mut self, is_enabled: bool) -> io::Result<()> {
        self.starts += u32::from(is_enabled);
        self.is_on = is_enabled;
        Ok(())
    }
}
