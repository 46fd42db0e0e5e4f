//! Files of trace-cmd that the tests make: clocks, sizes of pages, missed events, cut files.

#[allow(dead_code)] // Other tests use the rest.
#[path = "common/mod.rs"]
mod common;
#[allow(dead_code)] // Other tests use the rest.
#[path = "common/trace_dat.rs"]
mod made;

use std::io::Cursor;

use common::{entries, page, Entry};
use made::File;
use trace_kernel::page::Missed;
use trace_kernel::trace_dat::TraceDat;
use trace_kernel::ByteOrder;

/// Flags of a page: events before it are missing, and their number is behind its events.
const MISSED: u64 = 1 << 31;
const STORED: u64 = 1 << 30;

/// Returns a page of `size` bytes with events at these times.
fn events(size: usize, times: &[u32]) -> Vec<u8> {
    let event = |delta| Entry::Event { delta, id: 1, payload: vec![0; 6] };
    let deltas = times.iter().scan(0, |last, time| Some(time - std::mem::replace(last, *time)));
    let data = entries(ByteOrder::Little, &deltas.map(event).collect::<Vec<_>>());
    padded(size, page(ByteOrder::Little, 0, 0, &data))
}

/// Returns a page without events, at this time, of which so many are missing before it.
fn lost(time: u64, number: u64) -> Vec<u8> {
    let page = page(ByteOrder::Little, time, MISSED | STORED, b"");
    padded(4096, [page, number.to_le_bytes().to_vec()].concat())
}

fn padded(size: usize, mut page: Vec<u8>) -> Vec<u8> {
    page.resize(size, 0);
    page
}

/// Returns a file with these pages of each CPU.
fn file(clock: &str, page_size: usize, cpus: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let mut file = File::new("none");
    file.buffer_of(clock, page_size, cpus);
    file.finish()
}

impl File {
    fn buffer_of(&mut self, clock: &str, page_size: usize, cpus: &[Vec<Vec<u8>>]) {
        let areas = (0..).zip(cpus).map(|(cpu, pages)| {
            let pages = pages.concat();
            (cpu, self.data(&pages), pages.len() as u64)
        });
        let areas: Vec<_> = areas.collect();
        self.buffer(clock, page_size as u32, false, &areas);
    }
}

type Events = Vec<(u64, u16, Missed, u64)>;
type AtEnd = Vec<(u16, Missed, (u64, u64))>;

/// Returns the events of a file with what is missing before them, the end, and the error.
fn read(bytes: &[u8]) -> (Events, AtEnd, Option<String>) {
    let mut file = TraceDat::open(Cursor::new(bytes)).unwrap();
    let mut events = Vec::new();
    let error = loop {
        match file.next() {
            Ok(Some(item)) => {
                events.push((item.entry.ticks, item.entry.cpu, item.missed, item.since));
            }
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    (events, file.missed_at_end().collect(), error)
}

#[test]
fn clocks() {
    let rate = |clock| {
        let bytes = file(clock, 4096, &[vec![events(4096, &[1])]]);
        TraceDat::open(Cursor::new(&*bytes)).unwrap().ticks_per_second()
    };
    for clock in ["local [mono] boot", "boot", "local", "mono_raw", "tai", "uptime", "perf"] {
        assert_eq!(rate(clock), Some(1_000_000_000), "{clock}");
    }
    for clock in ["x86-tsc", "counter", "ppc-tb", "s390-tod", "local [ppc-tb]"] {
        assert_eq!(rate(clock), None, "{clock}");
    }
}

#[test]
fn buffers_have_pages_of_different_sizes() {
    let mut made = File::new("none");
    made.buffer_of("mono", 4096, &[vec![events(4096, &[1]), events(4096, &[2])]]);
    made.buffer_of("mono", 8192, &[vec![events(8192, &[3]), events(8192, &[4])]]);
    // The size of the header_page.
    made.buffer_of("mono", 0, &[vec![events(4096, &[5]), events(4096, &[6])]]);
    let (events, _, error) = read(&made.finish());
    let times: Vec<_> = events.iter().map(|(time, ..)| *time).collect();
    assert_eq!((&*times, error), (&[1, 2, 3, 4, 5, 6][..], None));
    for size in [8, u32::MAX as usize] {
        let error = TraceDat::open(Cursor::new(file("mono", size, &[vec![lost(0, 0)]])));
        assert_eq!(error.unwrap_err().to_string(), "malformed buffer: page size");
    }
}

#[test]
fn missed_events_of_pages_without_events() {
    let last = page(ByteOrder::Little, 0, MISSED, b"");
    let unknown = padded(4096, last);
    let pages = [
        vec![lost(5, 10), lost(6, 7), events(4096, &[8]), lost(20, 3), lost(30, 4)],
        vec![lost(5, 10), unknown, events(4096, &[9])],
    ];
    let (events, end, error) = read(&file("mono", 4096, &pages));
    assert_eq!(events, [(8, 0, Missed::Count(17), 0), (9, 1, Missed::Unknown, 0)]);
    assert_eq!((&*end, error), (&[(0, Missed::Count(7), (8, 30))][..], None));
}

#[test]
fn events_of_other_cpus_follow_after_a_malformed_page() {
    let pages = [
        vec![events(4096, &[1, 4])],
        vec![events(4096, &[2]), page(ByteOrder::Little, 0, 5000, &[0; 4080])],
        vec![padded(4096, page(ByteOrder::Little, 0, 5000, b""))],
        vec![events(4096, &[3]), events(4096, &[5])],
    ];
    let (events, _, error) = read(&file("mono", 4096, &pages));
    let places: Vec<_> = events.iter().map(|(time, cpu, ..)| (*time, *cpu)).collect();
    assert_eq!(places, [(1, 0), (2, 1), (3, 3), (4, 0), (5, 3)]);
    let error = error.unwrap();
    assert!(error.starts_with("malformed page of CPU 2: "), "{error}");
}

#[test]
fn a_file_without_the_data_of_its_last_cpu() {
    let mut made = File::new("none");
    let page = events(4096, &[1, 2]);
    let offset = made.data(&page);
    made.buffer("mono", 4096, false, &[(0, offset, 4096), (1, 1 << 20, 4096)]);
    let (events, _, error) = read(&made.finish());
    assert_eq!((events.len(), error.as_deref()), (2, Some("the file is truncated")));
}
