//! Measures the decoding and writing of packets and the decoding of instructions, and compares the
//! times with libipt's.
//!
//! ```text
//! cargo bench -p trace-insntrace --bench decode [-- FOLDER [ROUNDS]]
//! ```
//!
//! There are three traces: a walk through a random program, and a run of `sort` under the step
//! engine, as it is and without the time stamps of its calls, which hardware does not write. With a
//! folder, the traces are kept there and used again, for programs that count instructions.
//!
//! libipt is measured in the same run if its headers are installed (Debian: `libipt-dev`). Times
//! are CPU times, and in each round our time and libipt's follow each other, so that both have the
//! same load of the machine.

#[path = "decode/clock.rs"]
mod clock;
#[path = "decode/libipt.rs"]
mod libipt;
#[path = "decode/sample.rs"]
mod sample;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "decode/sort.rs"]
mod sort;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/common/stepped.rs"]
mod stepped;
#[path = "../tests/common/walk.rs"]
mod walk;

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use libipt::{Libipt, Part as Theirs};
use sample::Sample;
use trace_insntrace::flow::{FlowDecoder, Item, Part};
use trace_insntrace::pt::{encode, Packet, PacketDecoder};

const ROUNDS: usize = 15;

/// The number of bytes that are decoded at a time.
const PIECE_BYTES: usize = 1 << 16;

/// The time of each round, and the number of items.
#[derive(Default)]
struct Rate {
    times: Vec<Duration>,
    count: u64,
}

impl Rate {
    fn add(&mut self, time: Duration, count: u64) {
        self.times.push(time);
        self.count = count;
    }

    fn nanos(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e9 / self.count as f64
    }
}

/// What is measured: its name, our part, and libipt's.
type Row = (&'static str, fn(&Sample) -> (Duration, u64), Theirs);

const ROWS: [Row; 6] = [
    ("packets decoded", |it| timed(|| packets_visited(&it.trace)), Theirs::Packets),
    ("one at a time", |it| timed(|| packets_taken(&it.trace)), Theirs::Packets),
    ("packets written", |it| timed(|| packets_written(&it.packets)), Theirs::Encoder),
    ("instructions", |it| of_flow(it, instructions), Theirs::Instructions),
    ("blocks", |it| of_flow(it, blocks), Theirs::Blocks),
    ("one at a time", |it| of_flow(it, parts), Theirs::Blocks),
];

fn timed(decode: impl FnOnce() -> u64) -> (Duration, u64) {
    let start = clock::now();
    let count = decode();
    (clock::now() - start, count)
}

/// The copy of the code is not measured, neither here nor for libipt.
fn of_flow(sample: &Sample, decode: fn(&mut FlowDecoder, &[u8]) -> u64) -> (Duration, u64) {
    let mut flow = FlowDecoder::new(sample.image.clone());
    timed(|| decode(&mut flow, &sample.trace))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` only compiles it.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let mut others = arguments.iter().filter(|argument| *argument != "--bench");
    let folder = others.next().map(Path::new);
    let rounds = others.next().map_or(ROUNDS, |rounds| rounds.parse().expect("a number"));
    for sample in sample::all(folder) {
        measure(&sample, rounds);
    }
}

fn measure(sample: &Sample, rounds: usize) {
    let (_, instructions) = of_flow(sample, instructions);
    let bits = sample.trace.len() as f64 * 8.0 / instructions as f64;
    println!("{}: {} bytes, {bits:.2} bits an instruction", sample.name, sample.trace.len());
    let mut libipt = Libipt::start(sample);
    if libipt.is_none() {
        println!("libipt is not installed");
    }
    println!("{:>16} {:>10} {:>8} {:>10} {:>6}", "", "number", "ns each", "libipt ns", "times");
    for (name, ours, theirs) in ROWS {
        let (mut our_rate, mut their_rate) = (Rate::default(), Rate::default());
        for _ in 0..rounds {
            let (time, count) = ours(sample);
            our_rate.add(time, count);
            if let Some(libipt) = &mut libipt {
                let (time, count) = libipt.measure(theirs);
                their_rate.add(time, count);
            }
        }
        print_row(name, &our_rate, &their_rate, theirs);
    }
}

fn print_row(name: &str, ours: &Rate, theirs: &Rate, part: Theirs) {
    let of = part.name();
    let nanos = ours.nanos(median(ours.times.clone()));
    if theirs.times.is_empty() {
        return println!("{name:>16} {:>10} {nanos:>8.2}", ours.count);
    }
    assert_eq!(theirs.count, ours.count, "libipt found as many {name}");
    let ratios = ours.times.iter().zip(&theirs.times);
    let ratio = median(ratios.map(|(ours, theirs)| theirs.div_duration_f64(*ours)).collect());
    let their_nanos = theirs.nanos(median(theirs.times.clone()));
    println!("{name:>16} {:>10} {nanos:>8.2} {their_nanos:>10.2} {ratio:>6.2}  {of}", ours.count);
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("times have an order"));
    values[values.len() / 2]
}

#[inline(never)]
fn packets_visited(trace: &[u8]) -> u64 {
    let mut decoder = PacketDecoder::new();
    let mut count = 0;
    for piece in trace.chunks(PIECE_BYTES) {
        decoder.push(piece);
        let end = decoder.visit(|packet| {
            black_box(&packet);
            count += 1;
        });
        end.expect("a good trace");
    }
    count
}

#[inline(never)]
fn packets_taken(trace: &[u8]) -> u64 {
    let mut decoder = PacketDecoder::new();
    let mut count = 0;
    for piece in trace.chunks(PIECE_BYTES) {
        decoder.push(piece);
        while let Some(packet) = decoder.next_packet() {
            black_box(&packet.expect("a good trace"));
            count += 1;
        }
    }
    count
}

fn packets(trace: &[u8]) -> Vec<Packet> {
    let mut decoder = PacketDecoder::new();
    decoder.push(trace);
    let mut packets = Vec::new();
    decoder.visit(|at| packets.push(at.packet)).expect("a good trace");
    packets
}

#[inline(never)]
fn packets_written(packets: &[Packet]) -> u64 {
    let mut out = Vec::new();
    packets.iter().for_each(|packet| encode::append(&mut out, packet));
    black_box(out);
    packets.len() as u64
}

#[inline(never)]
fn instructions(flow: &mut FlowDecoder, trace: &[u8]) -> u64 {
    let mut count = 0;
    for piece in trace.chunks(PIECE_BYTES) {
        flow.push(piece);
        while let Some(item) = flow.next_item() {
            let item = black_box(item.expect("a good trace"));
            count += u64::from(matches!(item, Item::Instruction(_)));
        }
    }
    count
}

/// The same, with several instructions at a time, as libipt's block decoder has them.
#[inline(never)]
fn blocks(flow: &mut FlowDecoder, trace: &[u8]) -> u64 {
    let mut count = 0;
    for piece in trace.chunks(PIECE_BYTES) {
        flow.push(piece);
        let end = flow.visit(|part, _| {
            if let Part::Instructions(part) = black_box(part) {
                count += part.len() as u64;
            }
        });
        end.expect("a good trace");
    }
    count
}

#[inline(never)]
fn parts(flow: &mut FlowDecoder, trace: &[u8]) -> u64 {
    let mut count = 0;
    for piece in trace.chunks(PIECE_BYTES) {
        flow.push(piece);
        while let Some(part) = flow.next_part() {
            if let Part::Instructions(part) = black_box(part.expect("a good trace")) {
                count += part.len() as u64;
            }
        }
    }
    count
}
