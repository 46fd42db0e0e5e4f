//! Areas in memory files, which the tests write as a kernel does.

use std::fs::File;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use rustix::param::page_size;

use super::*;

const AUX_HEAD: u64 = 1056;
const DATA_HEAD: u64 = 1024;

/// The kernel's side of an event: a page of positions, a ring buffer of a page, and an area.
struct Writer {
    file: File,
    size: u64,
    written: u64,
    records: u64,
}

impl Writer {
    fn new(pages: u64) -> Self {
        let file = tempfile::tempfile().unwrap();
        let size = pages * page_size() as u64;
        file.set_len(2 * page_size() as u64 + size).unwrap();
        Self { file, size, written: 0, records: 0 }
    }

    fn map(&self, overwrites: bool) -> AuxMapping {
        map(&self.file, page_size(), self.size as usize, overwrites).unwrap()
    }

    fn word(&self, offset: u64) -> u64 {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, offset).unwrap();
        u64::from_ne_bytes(word)
    }

    fn set_word(&self, offset: u64, value: u64) {
        self.file.write_all_at(&value.to_ne_bytes(), offset).unwrap();
    }

    /// Writes bytes across the end of a buffer that begins at `base`.
    fn write_at(&self, base: u64, size: u64, position: u64, bytes: &[u8]) {
        let start = position % size;
        let (first, rest) = bytes.split_at(bytes.len().min((size - start) as usize));
        self.file.write_all_at(first, base + start).unwrap();
        self.file.write_all_at(rest, base).unwrap();
    }

    /// Writes data, and then their end.
    fn data(&mut self, bytes: &[u8]) {
        self.write_at(2 * page_size() as u64, self.size, self.written, bytes);
        self.written += bytes.len() as u64;
        self.set_word(AUX_HEAD, self.written);
    }

    fn record(&mut self, bytes: &[u8]) {
        let page = page_size() as u64;
        self.write_at(page, page, self.records, bytes);
        self.records += bytes.len() as u64;
        self.set_word(DATA_HEAD, self.records);
    }
}

#[test]
fn the_kernel_finds_the_place_of_the_area() {
    let writer = Writer::new(4);
    let memory = writer.map(false);
    assert_eq!((writer.word(1072), writer.word(1080)), (2 * page_size() as u64, writer.size));
    memory.set_tail(77);
    assert_eq!((writer.word(1064), memory.size() as u64), (77, writer.size));
}

#[test]
fn an_area_that_is_overwritten_is_only_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(3 * page_size() as u64).unwrap();
    let maps = || std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = file.path().to_str().unwrap();
    let access = |overwrites| {
        let memory = map(file.as_file(), page_size(), page_size(), overwrites).unwrap();
        let maps = maps();
        let of_area = format!(" {:08x} ", 2 * page_size());
        let line = maps.lines().find(|line| line.contains(path) && line.contains(&of_area));
        let access = line.unwrap().split(' ').nth(1).unwrap().to_owned();
        drop(memory);
        access
    };
    assert_eq!((access(true), access(false)), ("r--s".to_owned(), "rw-s".to_owned()));
    assert!(!maps().contains(path), "all is unmapped");
}

proptest! {
    /// Bytes and records arrive once and in order, wherever they wrap around.
    #[test]
    fn what_is_written_is_read(
        pieces in proptest::collection::vec((0..9000_usize, 0..300_usize), 1..20),
    ) {
        let mut writer = Writer::new(4);
        let memory = writer.map(false);
        let (mut tail, mut next) = (0_u64, 0_u8);
        for (length, record) in pieces {
            let mut byte = || {
                next = next.wrapping_add(1);
                next
            };
            let mut bytes = |length| -> Vec<u8> { (0..length).map(|_| byte()).collect() };
            let (data, record) = (bytes(length), bytes(record));
            writer.data(&data);
            writer.record(&record);
            let (head, size) = (memory.head(), memory.size());
            let mut read = Vec::new();
            let start = (tail % size as u64) as usize;
            let first = data.len().min(size - start);
            memory.append_to(&mut read, start, first);
            memory.append_to(&mut read, 0, data.len() - first);
            memory.set_tail(head);
            tail = head;
            prop_assert!(read == data);
            prop_assert_eq!(writer.word(1064), head);
            let mut records = Vec::new();
            ring::take(memory.ring(), &mut records);
            prop_assert!(records == record);
            prop_assert_eq!(writer.word(1032), writer.records);
        }
    }

    /// Positions that a kernel never writes are no harm.
    #[test]
    fn any_place_and_any_head_are_harmless(head: u64, tail: u64, start: usize, length: usize) {
        let writer = Writer::new(1);
        writer.set_word(DATA_HEAD, head);
        writer.set_word(1032, tail);
        let memory = writer.map(true);
        let mut read = Vec::new();
        memory.append_to(&mut read, start, length);
        prop_assert!(read.len() <= memory.size());
        let mut records = Vec::new();
        ring::take(memory.ring(), &mut records);
        prop_assert!(records.len() <= page_size());
    }
}
