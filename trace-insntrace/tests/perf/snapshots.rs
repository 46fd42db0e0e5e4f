//! Files of `perf record --snapshot`: each AUX data has the newest packets of a buffer.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::ops::Range;

use proptest::prelude::*;
use trace_insntrace::perf_data::{read, Imported};
use trace_insntrace::pt::{ExecMode, PsbState, Writer};

use crate::cpus::{buffer, executable, executed, file, info, instructions, process, switch};

/// The number of periods in which a program is traced.
const PERIODS: u64 = 40;

/// The rounds of the program in a period.
fn rounds(period: u64) -> usize {
    period as usize % 7 + 1
}

/// The packets of a CPU, and the offset behind each period, which begins with a PSB.
struct Traced {
    packets: Vec<u8>,
    ends: Vec<usize>,
}

impl Traced {
    fn new() -> Self {
        let mut writer = Writer::new();
        let (mut packets, mut ends) = (Vec::new(), Vec::new());
        for period in 0..PERIODS {
            let tsc = Some(1000 + 10 * period);
            writer.psb(PsbState { tsc, cbr: None, mode: ExecMode::LONG, ip: None });
            writer.enable(0x1000, ExecMode::LONG);
            (1..rounds(period)).for_each(|_| writer.conditional(true));
            writer.conditional(false);
            writer.disable(None);
            packets.extend(writer.take());
            ends.push(packets.len());
        }
        Self { packets, ends }
    }

    /// Returns the snapshot of these bytes, as perf writes it.
    fn snapshot(&self, bytes: Range<usize>) -> Vec<u8> {
        let mut packets = self.packets[bytes].to_vec();
        packets.resize(packets.len().next_multiple_of(8), 0);
        buffer(0, &packets)
    }

    /// Returns the first period that begins at an offset or behind it.
    fn period_at(&self, offset: usize) -> usize {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.take_while(|begin| *begin < offset).count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    /// Snapshots have all packets that one of them has, each once, in their order.
    #[test]
    fn snapshots_are_joined(
        pieces in proptest::collection::vec((0..12_usize, 1..600_usize), 1..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("one"), executable(0)).unwrap();
        let traced = Traced::new();
        let (mut snapshots, mut expected) = (Vec::new(), Vec::new());
        let (mut end, mut known) = (0, 0);
        for (periods, size) in pieces {
            // The processor stops between two packets, where tracing is off.
            end = (end + periods).min(traced.ends.len() - 1);
            let stop = traced.ends[end];
            let start = stop.saturating_sub(size);
            snapshots.push(traced.snapshot(start..stop));
            let first = traced.period_at(start).max(known);
            expected.extend((first..=end).flat_map(|at| executed(0, rounds(at as u64))));
            // Without a PSB, nothing of a snapshot is decoded.
            known = if traced.period_at(start) <= end { end + 1 } else { known };
        }
        let program = [process(1, &folder.path().join("one")), switch(true, 1, 0, 1)].concat();
        let data = [info(true), snapshots.concat(), program].concat();
        let directory = folder.path().join("recording");
        let (recording, imported) = read(Cursor::new(file(&data)), &directory).unwrap();
        prop_assert_eq!(imported, Imported::default());
        let expected = BTreeMap::from([(1, expected)]);
        let expected = if expected[&1].is_empty() { BTreeMap::new() } else { expected };
        prop_assert_eq!(instructions(&recording), expected);
    }
}
