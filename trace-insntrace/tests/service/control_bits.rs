//! The bits of the control register that select packets: what a client sets, its trace has.

use trace_insntrace::controller::{ctl, BufferConfig};
use trace_insntrace::flow::{InstructionKind, Item};
use trace_insntrace::pt::{Packet, PacketDecoder};
use trace_insntrace::recording::{TraceDecoder, TraceId};
use trace_insntrace::service::TraceData;
use trace_insntrace::step::Engine;

use crate::target::{wait_until, Target};
use crate::traced::{capture_end, start};
use crate::{with_each_engine, Running, BUFFER, CONFIG};

with_each_engine! {
    returns_are_compressed_unless_it_is_disabled,
    time_stamps_are_written_if_enabled,
    the_distance_of_psb_packets_is_that_of_the_frequency,
}

/// The least bytes of a trace.
const BYTES: u64 = 30_000;

/// The bytes that may follow a PSB is due before the writer can place it: those of an instruction.
const LATE_BYTES: u64 = 64;

/// Traces a program with these bits, until there are so many bytes.
fn trace(engine: Engine, ctl: u64, bytes: u64) -> TraceData {
    let (service, mut target) = (Running::with(engine), Target::start());
    let client = service.connect();
    start(&client, BufferConfig { ctl, ..CONFIG }, &target);
    assert_eq!(client.get_buffer_config(BUFFER).unwrap().ctl, ctl);
    while capture_end(&client) < bytes {
        let before = capture_end(&client);
        target.write_lines(20);
        wait_until(|| capture_end(&client) > before);
    }
    client.stop().unwrap();
    let data = client.trace_data(BUFFER).unwrap();
    client.close().unwrap();
    target.finish();
    data
}

/// Returns the packets with their offsets.
fn packets(data: &TraceData) -> Vec<(u64, Packet)> {
    let mut decoder = PacketDecoder::new();
    decoder.push(&data.packets);
    let packets = std::iter::from_fn(|| decoder.next_packet());
    packets.map(|found| found.unwrap()).map(|found| (found.offset, found.packet)).collect()
}

/// What the packets have, and the instructions that require it.
#[derive(Debug, Default)]
struct Counts {
    branch_bits: usize,
    targets: usize,
    conditional: usize,
    indirect: usize,
    returns: usize,
}

fn count(data: &TraceData) -> Counts {
    let mut counts = Counts::default();
    for (_, packet) in packets(data) {
        match packet {
            Packet::Tnt(bits) | Packet::LongTnt(bits) => {
                counts.branch_bits += usize::from(bits.len());
            }
            Packet::Tip(_) => counts.targets += 1,
            _ => {}
        }
    }
    let mut decoder = TraceDecoder::new(&data.notes, TraceId(0), &data.packets[..]);
    while let Some(item) = decoder.next_item().unwrap() {
        let Item::Instruction(instruction) = item.unwrap() else { continue };
        match instruction.kind {
            InstructionKind::Conditional => counts.conditional += 1,
            InstructionKind::IndirectJump | InstructionKind::IndirectCall => counts.indirect += 1,
            InstructionKind::Return => counts.returns += 1,
            _ => {}
        }
    }
    counts
}

fn returns_are_compressed_unless_it_is_disabled(engine: Engine) {
    let disabled = ctl::DEFAULT | ctl::DisableReturnCompression::make(1);
    let whole = count(&trace(engine, disabled, BYTES));
    assert!(whole.returns > 300, "{whole:?}");
    assert_eq!(whole.targets, whole.indirect + whole.returns, "a TIP for each return: {whole:?}");
    assert_eq!(whole.branch_bits, whole.conditional, "{whole:?}");
    let compressed = count(&trace(engine, ctl::DEFAULT, BYTES));
    let by_bits = compressed.branch_bits - compressed.conditional;
    assert_eq!(compressed.targets + by_bits, compressed.indirect + compressed.returns);
    // The stack is cleared at each PSB and each system call.
    assert!(by_bits > compressed.returns / 2, "{by_bits} of {compressed:?}");
}

fn time_stamps_are_written_if_enabled(engine: Engine) {
    let is_time = |(_, packet): &(u64, Packet)| matches!(packet, Packet::Tsc(_));
    let count = |ctl| packets(&trace(engine, ctl, 10_000)).iter().filter(|it| is_time(it)).count();
    assert!(count(ctl::DEFAULT) > 100);
    assert_eq!(count(ctl::DEFAULT & !ctl::TscEnable::make(1)), 0);
}

fn the_distance_of_psb_packets_is_that_of_the_frequency(engine: Engine) {
    for frequency in [0, 1, 3] {
        let distance = 1 << (11 + frequency);
        let config = ctl::DEFAULT | ctl::PsbFrequency::make(frequency);
        let found = packets(&trace(engine, config, 3 * distance));
        let psbs = found.iter().filter(|(_, packet)| *packet == Packet::Psb);
        let offsets: Vec<u64> = psbs.map(|(offset, _)| *offset).collect();
        assert!(offsets.len() > 2, "{offsets:?}");
        for two in offsets.windows(2) {
            let found = two[1] - two[0];
            assert!((distance..distance + LATE_BYTES).contains(&found), "{frequency}: {found}");
        }
    }
}

#[test]
fn the_bits_are_in_the_documentation() {
    let page = include_str!("../../../docs/insntrace.md");
    for row in [
        "| 10 | TSCEn | time stamps. If it is 0, the stream has none |",
        "| 11 | DisRETC | returns are not compressed |",
        "| 24 to 27 | PSBFreq | PSB every 2^(11 + n) bytes |",
    ] {
        assert!(page.contains(row), "{row}");
    }
}
