//! The code of a process, read from its memory.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::flow::{decode_one, DecodedInstruction, FlowErrorKind, Image};

const PAGE_BYTES: u64 = 4096;

/// Copies of executed pages.
#[derive(Debug)]
pub(super) struct Code {
    memory: File,
    pages: HashSet<u64>,
    image: Image,
}

impl Code {
    pub(super) fn of_process(pid: u32) -> io::Result<Self> {
        let memory = File::open(format!("/proc/{pid}/mem"))?;
        Ok(Self { memory, pages: HashSet::new(), image: Image::new() })
    }

    pub(super) fn image(&self) -> &Image {
        &self.image
    }

    /// Returns the instruction at `ip`, or an error.
    pub(super) fn at(&mut self, ip: u64) -> Result<DecodedInstruction, FlowErrorKind> {
        self.copy_page(ip);
        let decoded = decode_one(ip, 64, &self.image);
        match decoded {
            // It may continue on the next page.
            Err(FlowErrorKind::NoCode) => {
                self.copy_page(ip.saturating_add(PAGE_BYTES));
                decode_one(ip, 64, &self.image)
            }
            decoded => decoded,
        }
    }

    /// Copies the page of `address`, if it can be read.
    fn copy_page(&mut self, address: u64) {
        let page = address & !(PAGE_BYTES - 1);
        let mut bytes = [0; PAGE_BYTES as usize];
        if !self.pages.contains(&page) && self.memory.read_exact_at(&mut bytes, page).is_ok() {
            self.pages.insert(page);
            self.image.insert(page, &bytes);
        }
    }
}
