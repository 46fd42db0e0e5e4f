//! Megabytes of JSON per second on one core: reading, conversion to FXT, and for comparison
//! `serde_json` into its `Value`.
//!
//! The documents are in memory and the archives are discarded. The result is the best of sixty
//! runs.

use std::fmt::Write;
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use trace_convert::tef;

const DOCUMENT_BYTES: usize = 2 << 20;
const RUNS: usize = 60;

/// A benchmark of a document.
type Way = (&'static str, fn(&[u8]));

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs each one once.
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let (bytes, runs) = if is_bench { (DOCUMENT_BYTES, RUNS) } else { (64 << 10, 1) };
    let only = arguments.iter().find(|argument| !argument.starts_with("--"));
    let ways: [Way; 3] = [("serde_json to Value", to_value), ("read", read), ("to FXT", convert)];
    for (what, json) in [("as Chrome writes", chrome(bytes)), ("as clang writes", clang(bytes))] {
        let mut others = None;
        for (way, run) in ways.iter().filter(|(way, _)| only.is_none_or(|only| only == way)) {
            let speed = measure(&json, runs, run);
            let factor = speed / *others.get_or_insert(speed);
            println!("{what}: {way}: {speed:.0} MB/s, {factor:.1} times the first");
        }
    }
}

fn to_value(json: &[u8]) {
    black_box(serde_json::from_slice::<serde_json::Value>(json).unwrap());
}

fn read(json: &[u8]) {
    let mut reader = tef::Reader::new(json);
    while let Some(item) = reader.next().unwrap() {
        black_box(&item);
    }
}

fn convert(json: &[u8]) {
    tef::to_fxt(tef::Reader::new(json), io::sink()).unwrap();
}

/// Returns MB/s.
fn measure(json: &[u8], runs: usize, run: impl Fn(&[u8])) -> f64 {
    let time = || {
        let start = Instant::now();
        run(json);
        start.elapsed()
    };
    let best: Duration = (0..runs).map(|_| time()).min().unwrap_or_default();
    json.len() as f64 / best.as_secs_f64() / 1e6
}

/// Events with the members that Chrome writes.
fn chrome(bytes: usize) -> Vec<u8> {
    document(bytes, |json, number| {
        let (ts, tid) = (50_000_000_000 + number * 7, 1 + number % 9);
        let name = ["RunTask", "Layout", "Paint", "v8.compile", "ThreadProxy::Commit"];
        let name = name[number as usize % name.len()];
        write!(
            json,
            "{{\"args\":{{\"src_file\":\"../../base/task/common.cc\",\"src_func\":\"DoWork\"}},\
             \"cat\":\"toplevel,devtools\",\"dur\":{},\"name\":\"{name}\",\"ph\":\"X\",\"pid\":4711,\
             \"tdur\":{},\"tid\":{tid},\"ts\":{ts},\"tts\":{}}}",
            number % 500,
            number % 400,
            ts - 1000,
        )
    })
}

/// Short events with one argument.
fn clang(bytes: usize) -> Vec<u8> {
    document(bytes, |json, number| {
        write!(
            json,
            "{{\"pid\":4711,\"tid\":4711,\"ph\":\"X\",\"ts\":{}.5,\"dur\":{},\
             \"name\":\"InstantiateFunction\",\"args\":{{\"detail\":\"std::vector<int>::push_back{}\"}}}}",
            number * 11,
            number % 97,
            number % 1000,
        )
    })
}

fn document(bytes: usize, event: impl Fn(&mut String, u64) -> std::fmt::Result) -> Vec<u8> {
    let mut json = String::from("{\"traceEvents\":[");
    let mut number = 0;
    while json.len() < bytes {
        json.push_str(if number == 0 { "" } else { ",\n" });
        event(&mut json, number).unwrap();
        number += 1;
    }
    json.push_str("]}");
    json.into_bytes()
}
