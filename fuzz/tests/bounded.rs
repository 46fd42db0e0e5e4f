//! The fuzz targets on stable Rust: the corpus, and so many files made of it
//! (`FUZZ_ROUNDS`, 30,000 by default), the same in every run of a seed (`FUZZ_SEED`, 0 by default).

#[path = "../../trace-insntrace/tests/common/random.rs"]
mod random;

use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};

use cap::Cap;
use random::Random;

/// Inputs have a few thousand bytes: what takes more memory than this follows a number in them.
#[global_allocator]
static MEMORY: Cap<std::alloc::System> = Cap::new(std::alloc::System, 512 << 20);

/// Pieces that are put between the bytes of files.
const TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\\ud800",
    b"1e999",
    b"-0",
    b"null",
    b"\"ph\":\"X\"",
    b"\"ts\":0.0001",
    b"\"id2\":{}",
    b"\"args\":{}",
    b"\"tef:added\":true",
    b"\"pid\":4294967295",
    b"[000]",
    b" 99999999999999999999",
    b"sched_switch: ",
    b"sched_wakeup: ",
    b"trace_event_clock_sync: ",
    b"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82",
    b"\x02\x23",
    b"\x02\xf3",
    b"\x51\x00\x10\x00\x00",
    b"\x7d\x00\x10\x00\x00\x00\x00",
    b"\x0d",
    b"\x01",
    b"\x02\xa3",
    b"\x19\x00\x10\x00\x00\x01\x00\x00",
    b"\x02\x73\x10\x00\x00\x64\x00",
    b"\x59\x07",
    b"\x02\x03\x1e\x00",
    b"\x2b",
    b"\xff\xff\xff\x0e",
    b"\x0f\x05",
    b"\xeb\xfe",
    b"\xff\xe0",
    b"\x10\x00\x04\x46\x78\x54\x16\x00",
    b"\x05\x00\x01\x00",
    b"\x0f\x48\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01",
    b"\x01\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09",
    b"\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
    b"xray_instr_map",
    b"\tfield:__data_loc char[] x;\toffset:8;\tsize:4;\tsigned:0;\n",
    b"\x05\x02\x01\0",
    b"\x07\x03\x01\0",
    b"\x1e\0\0\0",
    b"\x1f\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\0",
];

/// Makes a test of each target, with the name of its corpus, and with what a round costs.
macro_rules! targets {
    ($($target:ident: $corpus:literal, $cost:literal;)*) => {
        $(#[test]
        fn $target() {
            run($corpus, stringify!($target), trace_fuzz::$target, $cost);
        })*
    };
}

targets! {
    json: "json", 1;
    fxt: "fxt", 1;
    collector: "collector", 1;
    control: "control", 1;
    connections: "connections", 20;
    interleavings: "interleavings", 20;
    server: "server", 100;
    registration: "registration", 1;
    packet: "packet", 1;
    memory: "memory", 20;
    pt: "pt", 1;
    flow: "flow", 1;
    xray: "xray", 1;
    xray_map: "xray-map", 1;
    xray_yaml: "xray-yaml", 1;
    kernel: "kernel", 1;
    trace_dat: "trace-dat", 20;
    perf_data: "perf-data", 20;
    read: "archive", 20;
    stats: "archive", 20;
    critical_path: "archive", 20;
    slice: "archive", 20;
    merge: "archive", 20;
    timeline: "archive", 20;
    stacks: "archive", 20;
    export: "archive", 20;
    pftrace: "archive", 20;
    compressed: "archive", 20;
    recover: "archive", 20;
}

/// Runs a target with a corpus; an expensive one less often.
fn run(corpus_name: &str, name: &str, target: fn(&[u8]), cost: u64) {
    let corpus = corpus(corpus_name);
    let rounds = setting("FUZZ_ROUNDS", 30_000);
    let mut random = Random(0x5eed + setting("FUZZ_SEED", 0));
    corpus.iter().for_each(|file| try_one(name, file, target));
    for _ in 0..rounds / cost {
        let file = mutated(&corpus, &mut random);
        try_one(name, &file, target);
    }
}

fn setting(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |value| value.parse().unwrap())
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = format!("{}/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 5, "the corpus is there");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Keeps the file that a target fails on.
fn try_one(name: &str, file: &[u8], target: fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(file))) {
        let path = std::env::temp_dir().join(format!("fuzz-{name}-failure"));
        fs::write(&path, file).unwrap();
        eprintln!("the file is kept as {}", path.display());
        std::panic::resume_unwind(panic);
    }
}

fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut file = random.of(corpus).clone();
    for _ in 0..=random.below(4) {
        let at = random.index(file.len() + 1);
        let end = (at + random.index(40)).min(file.len());
        match random.below(6) {
            0 => file[at..end].iter_mut().for_each(|byte| *byte ^= 1 << random.below(8)),
            1 => drop(file.drain(at..end)),
            2 => drop(file.splice(at..at, random.of(TOKENS).iter().copied())),
            3 => {
                let piece = file[at..end].to_vec();
                let to = random.index(file.len() + 1);
                drop(file.splice(to..to, piece));
            }
            4 => {
                let other = random.of(corpus);
                let from = random.index(other.len() + 1);
                file.splice(at..end, other[from..].iter().copied().take(200)).for_each(drop);
            }
            _ => file.truncate(at),
        }
    }
    file
}
