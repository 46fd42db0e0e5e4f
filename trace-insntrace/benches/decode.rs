//! Measures the decoding and writing of packets and the decoding of instructions, and compares the
//! times with libipt's.
//!
//! ```text
//! cargo bench -p trace-insntrace
//! ```
//!
//! libipt is measured in the same run if its headers are installed (Debian: `libipt-dev`).

#[path = "../tests/common/walk.rs"]
mod walk;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use trace_insntrace::flow::{FlowDecoder, Image, Item};
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

fn main() {
    // `cargo test` only compiles it.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let random = &mut Random(1);
    let program = Program::new(random, 2000);
    let odds = Odds { interrupt: 20_000, pause: 20_000, psb: 30_000, time: 2_000, overflow: 0 };
    let walk = Walk::new(&program, random, Writer::new(), 4_000_000, odds);
    let decoded = packets(&walk.trace);
    let rates = [
        ("packets decoded", Rate::measure(|| count_packets(&walk.trace))),
        ("packets written", Rate::measure(|| write_packets(&decoded))),
        ("instructions", Rate::measure(|| instructions(&program.code, &walk.trace))),
    ];
    assert_eq!(rates[2].1.count, walk.executed.len() as u64);
    let libipt = libipt(&walk.trace, &program.code);
    println!("{:>16} {:>10} {:>12} {:>12} {:>8}", "", "number", "ns each", "libipt ns", "times");
    for (index, (name, rate)) in rates.iter().enumerate() {
        print_row(name, rate, libipt.as_ref().map(|libipt| &libipt[index]));
    }
    println!("{:.2} bits an instruction", bits(&walk));
}

fn bits(walk: &Walk<'_>) -> f64 {
    walk.trace.len() as f64 * 8.0 / walk.executed.len() as f64
}

fn print_row(name: &str, ours: &Rate, theirs: Option<&Rate>) {
    let (nanos, times) = theirs.map_or(("-".into(), "-".into()), |theirs| {
        assert_eq!(theirs.count, ours.count, "libipt found as many {name}");
        (format!("{:.1}", theirs.nanos()), format!("{:.1}", theirs.nanos() / ours.nanos()))
    });
    println!("{name:>16} {:>10} {:>12.1} {nanos:>12} {times:>8}", ours.count, ours.nanos());
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

fn instructions(code: &[u8], trace: &[u8]) -> u64 {
    let mut image = Image::new();
    image.insert(BASE, code);
    let mut flow = FlowDecoder::new(image);
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

/// Returns libipt's rates, if it is installed.
fn libipt(trace: &[u8], code: &[u8]) -> Option<[Rate; 3]> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    };
    let driver = directory.path().join("driver");
    if !compile(&driver) {
        println!("libipt is not installed");
        return None;
    }
    let files = [file("trace", trace), file("code", code)];
    let mut command = Command::new(driver);
    command.arg("time").arg(ROUNDS.to_string()).args(files).arg(format!("{BASE:x}"));
    let output = command.output().expect("the driver runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let numbers: Vec<&str> = text.split_whitespace().collect();
    let rate = |at: usize| Rate {
        best: Duration::from_secs_f64(numbers[at].parse().expect("seconds")),
        count: numbers[at + 1].parse().expect("a number"),
    };
    Some([rate(0), rate(2), rate(4)])
}

fn compile(driver: &Path) -> bool {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/libipt/driver.c");
    let mut command = Command::new("cc");
    command.args(["-O2", source, "-lipt", "-o"]).arg(driver);
    command.output().is_ok_and(|output| output.status.success())
}
