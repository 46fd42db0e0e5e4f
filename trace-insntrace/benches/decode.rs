//! Measures the decoding and writing of packets and the decoding of instructions, and compares the
//! times with libipt's.
//!
//! ```text
//! cargo bench -p trace-insntrace
//! ```
//!
//! There are three traces: a walk through a random program, and a run of `sort` under the step
//! engine, as it is and without the time stamps of its calls, which hardware does not write. libipt
//! is measured in the same run if its headers are installed (Debian: `libipt-dev`).

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "decode/sort.rs"]
mod sort;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/common/stepped.rs"]
mod stepped;
#[path = "../tests/common/walk.rs"]
mod walk;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use trace_insntrace::flow::{FlowDecoder, Image, Item, Part};
use trace_insntrace::pt::{encode, Packet, PacketDecoder, Writer};
use walk::{Odds, Program, Random, Walk, BASE};

const ROUNDS: usize = 7;

/// The best time of all rounds, and the number of items.
struct Rate {
    best: Duration,
    count: u64,
}

impl Rate {
    fn measure(mut decode: impl FnMut() -> u64) -> Self {
        let mut rate = Self { best: Duration::MAX, count: 0 };
        for _ in 0..ROUNDS {
            let start = Instant::now();
            rate.count = decode();
            rate.best = rate.best.min(start.elapsed());
        }
        rate
    }

    fn nanos(&self) -> f64 {
        self.best.as_secs_f64() * 1e9 / self.count as f64
    }
}

/// A trace, and what is required to decode it.
struct Sample {
    name: &'static str,
    image: Image,
    trace: Vec<u8>,
}

fn main() {
    // `cargo test` only compiles it.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    for sample in samples() {
        measure(&sample);
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn samples() -> Vec<Sample> {
    let (image, trace) = sort::run();
    let is_time = |packet: &Packet| matches!(packet, Packet::Tsc(_));
    let packets: Vec<_> = packets(&trace).into_iter().filter(|packet| !is_time(packet)).collect();
    let mut untimed = Vec::new();
    packets.iter().for_each(|packet| encode::append(&mut untimed, packet));
    let sample = |name, trace| Sample { name, image: image.clone(), trace };
    vec![walk(), sample("sort, with time stamps", trace), sample("sort", untimed)]
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn samples() -> Vec<Sample> {
    vec![walk()]
}

fn walk() -> Sample {
    let random = &mut Random(1);
    let program = Program::new(random, 2000);
    let odds = Odds { interrupt: 20_000, pause: 20_000, psb: 30_000, time: 2_000, overflow: 0 };
    let walk = Walk::new(&program, random, Writer::new(), 4_000_000, odds);
    let mut image = Image::new();
    image.insert(BASE, &program.code);
    assert_eq!(instructions(&image, &walk.trace), walk.executed.len() as u64);
    Sample { name: "random program", image, trace: walk.trace }
}

fn measure(sample: &Sample) {
    let Sample { name, image, trace } = sample;
    let decoded = packets(trace);
    let rates = [
        ("packets decoded", Rate::measure(|| count_packets(trace))),
        ("packets written", Rate::measure(|| write_packets(&decoded))),
        ("instructions", Rate::measure(|| instructions(image, trace))),
        ("in parts", Rate::measure(|| parts(image, trace))),
    ];
    let bits = trace.len() as f64 * 8.0 / rates[2].1.count as f64;
    println!("{name}: {} bytes, {bits:.2} bits an instruction", trace.len());
    println!("{:>16} {:>10} {:>8} {:>10} {:>6}", "", "number", "ns each", "libipt ns", "times");
    let [decoder, encoder, by_instruction, by_block] = libipt(trace, image);
    let rows = [(0, decoder, ""), (1, encoder, ""), (2, by_instruction, "instruction decoder")];
    for (index, theirs, of) in rows.into_iter().chain([(3, by_block, "block decoder")]) {
        let (name, rate) = &rates[index];
        print_row(name, rate, theirs.as_ref(), of);
    }
}

fn print_row(name: &str, ours: &Rate, theirs: Option<&Rate>, of: &str) {
    let (nanos, times) = theirs.map_or(("-".into(), "-".into()), |theirs| {
        assert_eq!(theirs.count, ours.count, "libipt found as many {name}");
        (format!("{:.2}", theirs.nanos()), format!("{:.2}", theirs.nanos() / ours.nanos()))
    });
    println!("{name:>16} {:>10} {:>8.2} {nanos:>10} {times:>6}  {of}", ours.count, ours.nanos());
}

fn each_packet(trace: &[u8], mut each: impl FnMut(Packet)) {
    let mut decoder = PacketDecoder::new();
    for piece in trace.chunks(1 << 16) {
        decoder.push(piece);
        while let Some(packet) = decoder.next_packet() {
            each(packet.expect("a good trace").packet);
        }
    }
}

fn packets(trace: &[u8]) -> Vec<Packet> {
    let mut packets = Vec::new();
    each_packet(trace, |packet| packets.push(packet));
    packets
}

fn count_packets(trace: &[u8]) -> u64 {
    let mut count = 0;
    each_packet(trace, |packet| {
        std::hint::black_box(&packet);
        count += 1;
    });
    count
}

fn write_packets(packets: &[Packet]) -> u64 {
    let mut out = Vec::new();
    packets.iter().for_each(|packet| encode::append(&mut out, packet));
    std::hint::black_box(out);
    packets.len() as u64
}

fn instructions(image: &Image, trace: &[u8]) -> u64 {
    let mut flow = FlowDecoder::new(image.clone());
    let mut count = 0;
    for piece in trace.chunks(1 << 16) {
        flow.push(piece);
        while let Some(item) = flow.next_item() {
            let item = std::hint::black_box(item.expect("a good trace"));
            count += u64::from(matches!(item, Item::Instruction(_)));
        }
    }
    count
}

/// The same, with several instructions at a time, as libipt's block decoder has them.
fn parts(image: &Image, trace: &[u8]) -> u64 {
    let mut flow = FlowDecoder::new(image.clone());
    let mut count = 0;
    for piece in trace.chunks(1 << 16) {
        flow.push(piece);
        while let Some(part) = flow.next_part() {
            if let Part::Instructions(part) = std::hint::black_box(part.expect("a good trace")) {
                count += part.len() as u64;
            }
        }
    }
    count
}

/// Returns libipt's rates, if it is installed: of its packet decoder, its encoder, its instruction
/// decoder and its block decoder.
fn libipt(trace: &[u8], image: &Image) -> [Option<Rate>; 4] {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    };
    let driver = directory.path().join("driver");
    if !compile(&driver) {
        println!("libipt is not installed");
        return [(); 4].map(|()| None);
    }
    let mut command = Command::new(driver);
    command.arg("time").arg(ROUNDS.to_string()).arg(file("trace", trace));
    for (address, code) in image.sections() {
        let address = format!("{address:x}");
        command.arg(file(&address, code)).arg(address);
    }
    let output = command.output().expect("the driver runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let numbers: Vec<&str> = text.split_whitespace().collect();
    let rate = |at: usize| Rate {
        best: Duration::from_secs_f64(numbers[at].parse().expect("seconds")),
        count: numbers[at + 1].parse().expect("a number"),
    };
    [0, 2, 4, 6].map(|at| Some(rate(at)))
}

fn compile(driver: &Path) -> bool {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/libipt/driver.c");
    let mut command = Command::new("cc");
    command.args(["-O2", source, "-lipt", "-o"]).arg(driver);
    command.output().is_ok_and(|output| output.status.success())
}
