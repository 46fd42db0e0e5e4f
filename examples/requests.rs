//! A server in miniature: each request parses, asks a database, and renders.
//!
//! ```text
//! trace record -o requests.fxt -- cargo run --release --example requests -- [--slow] [NUMBER [MICROSECONDS]]
//! ```
//!
//! NUMBER requests arrive, one every MICROSECONDS. With `--slow` rendering takes twice as long.
//! `docs/archives/record` uses it to record the archives of the documentation.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use trace_runtime::{trace_counter, trace_duration, trace_fn, trace_instant};

fn main() {
    let _trace = trace_runtime::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let render_micros = if arguments.iter().any(|it| it == "--slow") { 600 } else { 300 };
    let mut numbers = arguments.iter().filter_map(|it| it.parse().ok());
    let requests = numbers.next().unwrap_or(12);
    let interval = Duration::from_micros(numbers.next().unwrap_or(400));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    match runtime {
        Ok(runtime) => runtime.block_on(serve(requests, interval, render_micros)),
        Err(error) => eprintln!("requests: cannot start tokio: {error}"),
    }
}

/// Accepts a request every `interval`.
async fn serve(requests: u64, interval: Duration, render_micros: u64) {
    let mut open = JoinSet::new();
    let start = tokio::time::Instant::now();
    for number in 0..requests {
        open.spawn(request(number, render_micros));
        while open.try_join_next().is_some() {}
        trace_counter!("server", "requests", 0, "open" => open.len());
        tokio::time::sleep_until(start + interval * (number as u32 + 1)).await;
    }
    open.join_all().await;
}

#[trace_fn(category = "server", name = "request", args(number))]
async fn request(number: u64, render_micros: u64) {
    {
        trace_duration!("server", "parse");
        work(60 + 17 * (number % 5));
    }
    render(query(number).await, render_micros);
}

#[trace_fn(category = "server", args(rows))]
fn render(rows: u64, micros: u64) {
    {
        trace_duration!("server", "layout");
        work(micros / 2 + rows);
    }
    trace_duration!("server", "compress", "level" => 3);
    work(micros / 3);
}

/// Finds two of three results in its cache.
#[trace_fn(category = "db", name = "query", args(key))]
async fn query(key: u64) -> u64 {
    if key % 3 == 0 {
        trace_instant!("db", "cache miss");
        tokio::time::sleep(Duration::from_millis(1 + key % 2)).await;
    }
    let rows = 40 * (key % 4);
    trace_duration!("db", "decode", "rows" => rows);
    work(90 + rows);
    rows
}

/// Keeps the processor busy.
fn work(micros: u64) {
    let end = Instant::now() + Duration::from_micros(micros);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}
