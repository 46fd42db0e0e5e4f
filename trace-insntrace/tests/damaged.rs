//! Printed recordings in which packets and code do not agree.

use std::path::Path;

use trace_format::{Reader, Record};
use trace_insntrace::print::{self, Format, Summary};
use trace_insntrace::pt::{self, ExecMode, PsbState};
use trace_insntrace::recording::{Clock, Mapping, Note, Recording, SpaceId, TraceId, Writer};
use trace_insntrace::symbols::Symbols;

/// Three functions: each calls the next one, and the last one jumps by a register.
const CODE: [(u64, &[u8]); 3] = [
    (0x1000, &[0xe8, 0xfb, 0xf, 0, 0]),
    (0x2000, &[0xe8, 0xfb, 0xf, 0, 0]),
    (0x3000, &[0xff, 0xe0]),
];

/// Records packets of a program with this code.
fn record(directory: &Path, packets: &[u8]) -> Recording {
    let (trace, space) = (TraceId(0), SpaceId(0));
    let clock = Clock { now: || 0, ticks_per_second: 1 };
    let mut writer = Writer::create(directory, clock, "").unwrap();
    let mut note = |note| writer.note(&note).unwrap();
    note(Note::Thread { trace, pid: 1, tid: 1, name: "program".into() });
    let path = "/none/program".into();
    let mapping = Mapping { address: 0x1000, size: 0x3000, offset: 0, path, build_id: None };
    note(Note::Mapping { space, mapping });
    for (address, bytes) in CODE {
        note(Note::Code { space, address, bytes: bytes.to_vec() });
    }
    note(Note::Position { trace, offset: 0, space });
    writer.packets(trace, packets).unwrap();
    writer.flush().unwrap();
    Recording::open(directory).unwrap()
}

const BOUNDARY: PsbState = PsbState { tsc: Some(7), cbr: None, mode: ExecMode::LONG, ip: None };

/// Prints a trace of these packets. Returns the output, and what it has.
fn printed(packets: &[u8], format: Format) -> (Vec<u8>, Summary) {
    let directory = tempfile::tempdir().unwrap();
    let recording = record(directory.path(), packets);
    let (mut symbols, mut printed) = (Symbols::new(recording.notes()), Vec::new());
    let traces = recording.traces();
    let summary = print::write(&recording, &traces, format, &mut symbols, &mut printed).unwrap();
    (printed, summary)
}

#[test]
fn all_calls_end_where_packets_and_code_do_not_agree() {
    let mut packets = pt::Writer::new();
    for _ in 0..2 {
        packets.psb(BOUNDARY);
        packets.enable(0x1000, ExecMode::LONG);
        // In place of the jump's target.
        packets.conditional(true);
    }
    packets.psb(BOUNDARY);
    let (printed, summary) = printed(&packets.take(), Format::Calls);
    assert_eq!((summary.instructions, summary.errors), (6, 2));
    let printed = String::from_utf8(printed).unwrap();
    // Behind the number of the instruction and the time.
    let lines = printed.lines().filter_map(|line| match line.starts_with('[') {
        true => line.splitn(3, ' ').nth(2),
        false => line.starts_with("error: ").then_some("error"),
    });
    let one =
        ["program+0x0", "  program+0x1000", "    program+0x2000", "    }", "  }", "}", "error"];
    assert_eq!(lines.collect::<Vec<_>>(), one.repeat(2), "{printed}");
}

#[test]
fn lost_packets_are_printed() {
    let mut packets = pt::Writer::new();
    packets.psb(BOUNDARY);
    packets.enable(0x1000, ExecMode::LONG);
    packets.async_disable(0x3000, None);
    packets.overflow(None);
    packets.psb(BOUNDARY);
    let packets = packets.take();
    for format in [Format::Raw, Format::Instructions, Format::Calls] {
        let (printed, summary) = printed(&packets, format);
        assert_eq!((summary.instructions, summary.errors), (2, 0));
        let printed = String::from_utf8(printed).unwrap();
        assert_eq!(printed.matches("\n7 # packets were lost\n").count(), 1, "{printed}");
    }
    let (archive, _) = printed(&packets, Format::Fxt);
    let (mut reader, mut found) = (Reader::new(&archive[..]), 0);
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = &item.record else { continue };
        found += usize::from(item.text(event.name) == "packets lost");
    }
    assert_eq!(found, 1);
}
