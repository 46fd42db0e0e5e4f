//! Spans and events with fields of several types, on two threads.

use tracing::{info, info_span};
use tracing_subscriber::prelude::*;

fn main() {
    let file = std::env::args().nth(1).expect("the file to write");
    let (layer, _guard) =
        tracing_chrome::ChromeLayerBuilder::new().file(file).include_args(true).build();
    tracing_subscriber::registry().with(layer).init();
    let other = std::thread::spawn(|| work("other"));
    work("main");
    other.join().expect("the other thread does not panic");
}

fn work(name: &str) {
    for round in 0..100_i64 {
        let _outer = info_span!("outer", name, round, half = round as f64 / 2.0).entered();
        let _inner = info_span!("inner", text = "quotes \" and \\ and caf\u{e9}").entered();
        info!(round, "an event");
    }
}
