//! AUX areas that a processor of the test has written.

use proptest::prelude::*;
use trace_insntrace::controller::{
    Backend, BufferConfig, BufferDescriptor, BufferState, Capabilities, Losses, SideData, Status,
    ThreadKoid,
};
use trace_insntrace::hardware::{AuxArea, Collector};

/// An area with the rules of the kernel: `perf_event.h` and `ring_buffer.c`.
struct Area {
    bytes: Vec<u8>,
    overwrites: bool,
    written: u64,
    tail: u64,
    records: Vec<u8>,
}

impl Area {
    fn new(size: usize, overwrites: bool) -> Self {
        let (written, tail, records) = (0, 0, Vec::new());
        Self { bytes: vec![0; size], overwrites, written, tail, records }
    }

    /// Writes packets as far as there is space, and a record about them.
    fn write(&mut self, packets: &[u8]) {
        let size = self.bytes.len() as u64;
        let space = if self.overwrites { u64::MAX } else { self.tail + size - self.written };
        let fits = packets.len().min(usize::try_from(space).unwrap_or(usize::MAX));
        for byte in &packets[..fits] {
            let at = (self.written % size) as usize;
            self.bytes[at] = *byte;
            self.written += 1;
        }
        let flags = u64::from(fits < packets.len()) | u64::from(self.overwrites) << 1;
        self.record(11, &[self.written - fits as u64, fits as u64, flags]);
    }

    fn record(&mut self, kind: u32, fields: &[u64]) {
        let size = 8 + 8 * fields.len() as u16;
        self.records.extend(kind.to_ne_bytes());
        self.records.extend([0, 0]);
        self.records.extend(size.to_ne_bytes());
        self.records.extend(fields.iter().flat_map(|field| field.to_ne_bytes()));
    }
}

impl AuxArea for Area {
    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn head(&self) -> u64 {
        match self.overwrites {
            true => self.written % self.bytes.len() as u64,
            false => self.written,
        }
    }

    fn set_tail(&mut self, tail: u64) {
        assert!(!self.overwrites, "the kernel ignores it");
        self.tail = tail;
    }

    fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize) {
        bytes.extend_from_slice(&self.bytes[start..start + length]);
    }

    fn take_records(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.records)
    }
}

fn packets(from: u64, count: u64) -> Vec<u8> {
    (from..from + count).map(|number| (number % 251) as u8 + 1).collect()
}

#[test]
fn packets_are_taken_across_the_end_of_the_area() {
    let mut area = Area::new(16_384, false);
    let mut collector = Collector::new();
    let (mut position, mut expected, mut found) = (0, Vec::new(), Vec::new());
    for count in [0, 1, 12_287, 12_288, 5000, 5000, 8192, 3] {
        area.write(&packets(position, count));
        expected.extend(packets(position, count));
        position += count;
        found.extend(collector.take(&mut area));
        assert_eq!(area.tail, position);
    }
    assert!(found == expected);
    assert_eq!(collector.losses(), Losses::default());
}

#[test]
fn a_full_area_ends_with_packets_that_fit() {
    let mut area = Area::new(4096, false);
    let mut collector = Collector::new();
    area.write(&packets(0, 4000));
    area.write(&packets(4000, 200));
    assert!(collector.take(&mut area) == packets(0, 4096));
    assert_eq!(collector.losses(), Losses { truncated: 1, ..Losses::default() });
    area.write(&packets(9, 100));
    assert!(collector.take(&mut area) == packets(9, 100));
}

#[test]
fn an_area_with_little_space_may_have_stopped_the_processor() {
    for (count, truncated) in [(12_288, 0), (12_289, 1), (16_383, 1)] {
        let mut area = Area::new(16_384, false);
        area.write(&packets(0, count));
        area.records.clear();
        let mut collector = Collector::new();
        assert!(collector.take(&mut area) == packets(0, count));
        assert_eq!(collector.losses(), Losses { truncated, ..Losses::default() });
    }
}

#[test]
fn an_area_that_is_overwritten_has_the_newest_packets() {
    for (written, expected) in [
        (0, packets(0, 0)),
        (1, packets(0, 1)),
        (8191, packets(0, 8191)),
        (8192, packets(0, 8192)),
        (8193, packets(1, 8192)),
        (40_000, packets(40_000 - 8192, 8192)),
    ] {
        let mut area = Area::new(8192, true);
        area.write(&packets(0, written));
        let found = Collector::new().take_overwritten(&mut area);
        assert!(found == expected, "{written}: {}", found.len());
    }
}

#[test]
fn a_kernel_that_reports_too_much_does_no_harm() {
    let mut area = Area::new(4096, false);
    area.write(&packets(0, 4096));
    area.written = u64::MAX;
    let mut collector = Collector::new();
    assert_eq!(collector.take(&mut area).len(), 4096);
    assert_eq!(collector.losses().gaps, 1);
    area.written = 5;
    assert!(collector.take(&mut area).is_empty(), "the position went back");
}

#[test]
fn losses_and_the_first_thread_are_reported() {
    let mut area = Area::new(4096, false);
    area.record(12, &[7 | 8 << 32]);
    area.record(12, &[9 | 9 << 32]);
    area.record(2, &[1, 30]);
    area.record(2, &[1, 12]);
    area.record(11, &[0, 0, 1 << 2]);
    area.record(11, &[0, 0, 1 << 1 | 1 << 3]);
    area.record(99, &[]);
    let mut collector = Collector::new();
    collector.take(&mut area);
    assert_eq!(collector.losses(), Losses { truncated: 0, gaps: 1, records: 42 });
    assert_eq!(collector.started(), Some((7, 8)));
}

#[test]
fn losses_are_known_before_packets_are_taken() {
    let mut area = Area::new(16_384, false);
    let mut collector = Collector::new();
    let losses = |truncated, records| Losses { truncated, records, ..Losses::default() };
    area.write(&packets(0, 12_289));
    area.records.clear();
    for _ in 0..2 {
        // There is less than a page of space.
        assert_eq!(collector.losses_so_far(&mut area, false), losses(1, 0));
        assert_eq!(collector.losses_so_far(&mut area, true), losses(0, 0));
    }
    area.write(&packets(0, 10_000));
    area.record(2, &[1, 30]);
    for _ in 0..2 {
        assert_eq!(collector.losses_so_far(&mut area, false), losses(1, 30));
    }
    assert_eq!(collector.take(&mut area).len(), 16_384);
    assert_eq!(collector.losses(), losses(1, 30));
    assert_eq!(collector.losses_so_far(&mut area, false), losses(1, 30));
    area.write(&packets(0, 16_385));
    assert_eq!(collector.losses_so_far(&mut area, false), losses(2, 30));
}

#[test]
fn malformed_records_end_the_list() {
    let whole = {
        let mut area = Area::new(4096, false);
        area.record(11, &[0, 0, 1]);
        area.record(11, &[0, 0, 1]);
        area.records
    };
    for length in 0..whole.len() {
        let mut area = Area::new(4096, false);
        area.records = whole[..length].to_vec();
        let mut collector = Collector::new();
        collector.take(&mut area);
        assert_eq!(collector.losses().truncated, length as u64 / 32);
    }
    for size in 0..8_u16 {
        let mut area = Area::new(4096, false);
        area.records = whole.clone();
        area.records[6..8].copy_from_slice(&size.to_ne_bytes());
        Collector::new().take(&mut area);
    }
}

/// What a test does with an area: write packets, or take them.
#[derive(Debug, Clone)]
enum Action {
    Write(usize),
    Take,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        3 => (0..10_000_usize).prop_map(Action::Write),
        2 => Just(Action::Take),
    ];
    proptest::collection::vec(action, 1..30)
}

proptest! {
    /// Of an area that stops when it is full, each packet that fitted is taken once and in order.
    #[test]
    fn packets_are_those_of_a_queue(actions in actions()) {
        let (mut area, mut collector) = (Area::new(16_384, false), Collector::new());
        let (mut queue, mut next, mut truncated, mut flags) = (Vec::new(), 0, 0, 0);
        for action in actions {
            match action {
                Action::Write(count) => {
                    let bytes = packets(next, count as u64);
                    next += count as u64;
                    area.write(&bytes);
                    let fits = count.min(16_384 - queue.len());
                    flags += u64::from(fits < count);
                    queue.extend_from_slice(&bytes[..fits]);
                }
                Action::Take => {
                    truncated += flags.max(u64::from(16_384 - queue.len() < 4096));
                    flags = 0;
                    prop_assert!(collector.take(&mut area) == queue);
                    queue.clear();
                }
            }
        }
        truncated += flags.max(u64::from(16_384 - queue.len() < 4096));
        prop_assert!(collector.take(&mut area) == queue);
        prop_assert_eq!(collector.losses(), Losses { truncated, ..Losses::default() });
    }

    /// Of an area that is overwritten, the newest packets are there at any time.
    #[test]
    fn packets_are_the_last_ones(actions in actions()) {
        let (mut area, mut collector) = (Area::new(8192, true), Collector::new());
        let mut written = Vec::new();
        for action in actions {
            match action {
                Action::Write(count) => {
                    let bytes = packets(written.len() as u64, count as u64);
                    area.write(&bytes);
                    written.extend(bytes);
                }
                Action::Take => {
                    let newest = &written[written.len().saturating_sub(8192)..];
                    prop_assert!(collector.take_overwritten(&mut area) == newest);
                }
            }
        }
        prop_assert_eq!(collector.losses(), Losses::default());
    }

    /// Positions that no kernel writes, and torn records, are no harm.
    #[test]
    fn any_positions_and_records_are_harmless(
        heads in proptest::collection::vec(any::<u64>(), 1..5),
        records in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        for overwrites in [false, true] {
            let (mut area, mut collector) = (Area::new(4096, overwrites), Collector::new());
            area.records = records.clone();
            for head in &heads {
                area.written = *head;
                let taken = match overwrites {
                    true => collector.take_overwritten(&mut area),
                    false => collector.take(&mut area),
                };
                prop_assert!(taken.len() <= 4096);
            }
        }
    }
}

/// A back end that only states its capabilities.
pub(crate) struct NoTracing(pub(crate) Capabilities);

impl Backend for NoTracing {
    type Chunk = ();

    fn capabilities(&self) -> Capabilities {
        self.0
    }

    fn allocate(&mut self, _: BufferDescriptor, _: &BufferConfig) -> Result<(), Status> {
        Ok(())
    }

    fn free(&mut self, _: BufferDescriptor) {}

    fn assign(&mut self, _: BufferDescriptor, _: ThreadKoid) -> Result<(), Status> {
        Ok(())
    }

    fn release(&mut self, _: BufferDescriptor) -> Result<(), Status> {
        Ok(())
    }

    fn start(&mut self) -> Result<(), Status> {
        Ok(())
    }

    fn stop(&mut self) {}

    fn state(&mut self, _: BufferDescriptor) -> Result<BufferState, Status> {
        Ok(BufferState::default())
    }

    fn chunk(&self, _: BufferDescriptor, _: u32) -> Result<(), Status> {
        Ok(())
    }

    fn side_data(&self, _: BufferDescriptor) -> Result<SideData<()>, Status> {
        Ok(SideData { written: 0, losses: Losses::default(), archive: () })
    }
}
