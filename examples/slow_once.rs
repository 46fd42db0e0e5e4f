//! A server with one slow request, for `trace insn record`: see docs/insntrace.md.
//!
//! ```sh
//! trace insn record --engine block --snapshot alert:slow -o DIR -- ./slow_once DIR/snapshot-1
//! trace insn print DIR/snapshot-1
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use trace_runtime::{trace_alert, trace_duration, trace_enabled};

/// How often the program looks whether it may continue. Each look is traced.
const PAUSE: Duration = Duration::from_millis(5);

fn main() {
    let _trace = trace_runtime::init();
    let snapshot = std::env::args_os().nth(1).map(PathBuf::from);
    // While instructions are traced, registering takes longer than `init` waits.
    while snapshot.is_some() && !trace_enabled!() {
        sleep(PAUSE);
    }
    let mut prices = BTreeMap::from([(1, 10), (2, 20), (3, 30)]);
    for number in [1, 3, 2, 4, 1] {
        request(&mut prices, number);
    }
    while snapshot.as_ref().is_some_and(|path| !path.exists()) {
        sleep(PAUSE);
    }
    finish(&prices);
}

#[inline(never)]
fn request(prices: &mut BTreeMap<u64, u64>, number: u64) -> u64 {
    trace_duration!("web", "request", "number" => number);
    match prices.get(&number) {
        Some(price) => *price,
        None => read_again(prices, number),
    }
}

/// Reads all prices again, because one is missing.
#[inline(never)]
fn read_again(prices: &mut BTreeMap<u64, u64>, number: u64) -> u64 {
    prices.extend((1..=number).map(|number| (number, 10 * number)));
    sleep(Duration::from_millis(60));
    trace_alert!("slow");
    10 * number
}

#[inline(never)]
fn finish(prices: &BTreeMap<u64, u64>) {
    println!("{} prices", prices.len());
}
