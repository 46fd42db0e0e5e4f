//! Files of trace-cmd that would need much memory or time.

#[allow(dead_code)] // Other tests use the rest.
#[path = "common/trace_dat.rs"]
mod made;

use std::io::Cursor;

use made::{group, File};
use trace_kernel::trace_dat::TraceDat;

/// Reads all of a file; returns the number of its events, or the error.
fn count(bytes: &[u8]) -> Result<usize, String> {
    let text = |error: trace_kernel::trace_dat::TraceDatError| error.to_string();
    let mut file = TraceDat::open(Cursor::new(bytes)).map_err(text)?;
    let mut events = 0;
    while file.next().map_err(text)?.is_some() {
        events += 1;
    }
    Ok(events)
}

fn error(text: &str) -> Result<usize, String> {
    Err(text.to_owned())
}

#[test]
fn cpus_with_the_same_data() {
    let read = |second: fn(u64, u64) -> (u32, u64, u64)| {
        let mut file = File::new("zlib");
        let data = group(&[0; 40_960]);
        let (offset, size) = (file.data(&data), data.len() as u64);
        file.data(&data);
        file.buffer("mono", 4096, true, &[(0, offset, size), second(offset, size)]);
        count(&file.finish())
    };
    assert_eq!(read(|offset, size| (1, offset + size, size)), Ok(0));
    assert_eq!(read(|offset, _| (1, offset, 0)), Ok(0));
    let overlap = error("malformed buffers: data of CPUs overlap");
    assert_eq!(read(|offset, size| (1, offset, size)), overlap);
    assert_eq!(read(|offset, size| (1, offset + size - 1, size)), overlap);
    assert_eq!(read(|_, _| (1, 0, u64::MAX)), overlap);
    let repeated = error("malformed buffer: a CPU is repeated");
    assert_eq!(read(|offset, size| (0, offset + size, size)), repeated);
}

#[test]
fn many_cpus() {
    let read = |cpus: std::ops::Range<u32>| {
        let mut file = File::new("none");
        file.buffer("mono", 4096, false, &cpus.map(|cpu| (cpu, 0, 0)).collect::<Vec<_>>());
        count(&file.finish())
    };
    assert_eq!(read(0..16_384), Ok(0));
    assert_eq!(read(0..16_385), error("malformed buffers: too many CPUs"));
    assert_eq!(read(65_535..65_537), error("malformed number of a CPU"));
}

#[test]
fn large_groups() {
    let read = |size| {
        let mut file = File::new("zlib");
        let offset = file.data(&group(&vec![0; size]));
        file.buffer("mono", 4096, true, &[(0, offset, group(&vec![0; size]).len() as u64)]);
        (offset, count(&file.finish()))
    };
    assert_eq!(read(16 << 20).1, Ok(0));
    let (offset, found) = read((16 << 20) + 1);
    let expected = format!("the data at {} has more than 16777216 bytes", offset + 4);
    assert_eq!(found, error(&expected));
}

/// Each CPU has a group with an event in its first page, so all groups are in memory at a time.
#[test]
fn groups_of_all_cpus() {
    let read = |cpus: u32| {
        let mut file = File::new("zlib");
        let mut page = vec![0; 16 << 20];
        // 4 bytes of payload, and no further event.
        page[8] = 8;
        page[16] = 1;
        let data = group(&page);
        let length = data.len() as u64;
        let areas: Vec<_> = (0..cpus).map(|cpu| (cpu, file.data(&data), length)).collect();
        file.buffer("mono", 4096, true, &areas);
        count(&file.finish())
    };
    assert_eq!(read(4), Ok(4));
    assert_eq!(read(16), error("pages of the CPUs need more than 268435456 bytes"));
}

#[test]
fn sections_are_read_once() {
    let mut file = File::new("zlib");
    let section = file.compressed_section(&[0; 1000]);
    file.option(17, &section.to_le_bytes());
    file.option(18, &section.to_le_bytes());
    let twice = error("malformed options: two refer to one section");
    assert_eq!(count(&file.finish()), twice);
}

#[test]
fn large_sections() {
    let mut file = File::new("zlib");
    for _ in 0..2 {
        let section = file.compressed_section(&vec![0; 40 << 20]);
        file.option(17, &section.to_le_bytes());
    }
    let found = count(&file.finish()).unwrap_err();
    assert!(found.starts_with("the data at ") && found.ends_with(" bytes"), "{found}");
    let mut file = File::new("none");
    let section = file.section(b"");
    file.option(17, &section.to_le_bytes());
    let mut bytes = file.finish();
    // The size of the section.
    bytes[section as usize + 8..][..8].fill(0xff);
    assert!(count(&bytes).unwrap_err().starts_with("the data at "));
}
