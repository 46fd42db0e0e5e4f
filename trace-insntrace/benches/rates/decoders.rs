//! The decoding and writing of packets and the decoding of instructions, compared with libipt's.
//!
//! Times are CPU times, and in each round our time and libipt's follow each other, so that both
//! have the same load of the machine.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use trace_insntrace::flow::{FlowDecoder, Item, Part};
use trace_insntrace::pt::{encode, Packet, PacketDecoder};

use crate::clock;
use crate::libipt::{Libipt, Part as Theirs};
use crate::sample::{self, Sample};

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

/// Prints the rates for each sample, and the ratio that all decoders have at least.
pub(crate) fn run(folder: Option<&Path>, rounds: Option<usize>) {
    let samples = sample::all(folder);
    let ratios = samples.iter().flat_map(|sample| measure(sample, rounds.unwrap_or(ROUNDS)));
    let least = ratios.min_by(f64::total_cmp);
    if let Some(least) = least {
        println!("all decoders: at least {least:.2} times as fast as libipt");
    }
}

/// Returns the ratios of decoders to those of libipt.
fn measure(sample: &Sample, rounds: usize) -> Vec<f64> {
    let (_, instructions) = of_flow(sample, instructions);
    let bits = sample.trace.len() as f64 * 8.0 / instructions as f64;
    println!("{}: {} bytes, {bits:.2} bits an instruction", sample.name, sample.trace.len());
    let mut libipt = Libipt::start(sample);
    if libipt.is_none() {
        println!("libipt is not installed");
    }
    println!("{:>16} {:>10} {:>8} {:>10} {:>6}", "", "number", "ns each", "libipt ns", "times");
    let mut ratios = Vec::new();
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
        let ratio = print_row(name, &our_rate, &their_rate, theirs);
        ratios.extend(ratio.filter(|_| !matches!(theirs, Theirs::Encoder)));
    }
    ratios
}

/// Returns the ratio to libipt, if it was measured.
fn print_row(name: &str, ours: &Rate, theirs: &Rate, part: Theirs) -> Option<f64> {
    let of = part.name();
    let nanos = ours.nanos(median(ours.times.clone()));
    if theirs.times.is_empty() {
        println!("{name:>16} {:>10} {nanos:>8.2}", ours.count);
        return None;
    }
    assert_eq!(theirs.count, ours.count, "libipt found as many {name}");
    let ratios = ours.times.iter().zip(&theirs.times);
    let ratio = median(ratios.map(|(ours, theirs)| theirs.div_duration_f64(*ours)).collect());
    let their_nanos = theirs.nanos(median(theirs.times.clone()));
    println!("{name:>16} {:>10} {nanos:>8.2} {their_nanos:>10.2} {ratio:>6.2}  {of}", ours.count);
    Some(ratio)
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

pub(crate) fn packets(trace: &[u8]) -> Vec<Packet> {
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
