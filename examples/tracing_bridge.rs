//! A program that is instrumented with `tracing` and `log`, on tokio. Two lines each record both in
//! the trace.
//!
//! ```text
//! trace record -o bridge.fxt -- cargo run --example tracing_bridge
//! ```
//!
//! Open the archive in <https://ui.perfetto.dev>: each order has a track of its own, below that of
//! the shop, and its polls are on the threads that ran them. `trace dump` shows the log.

use std::time::Duration;

use tokio::task::JoinSet;
use tracing::{info, info_span, instrument, Instrument};
use tracing_subscriber::prelude::*;

/// Orders that are served.
const ORDERS: u64 = 8;

fn main() {
    // The two lines: this one, and `trace_runtime::init`. The terminal has a layer and a filter of
    // its own.
    tracing_subscriber::registry().with(trace_tracing::layer()).with(terminal()).init();
    if let Err(error) = trace_log_bridge::init() {
        eprintln!("tracing_bridge: no log: {error}");
    }
    let _trace = trace_runtime::init();

    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    match runtime {
        Ok(runtime) => {
            let cents = runtime.block_on(serve().instrument(info_span!("shop", orders = ORDERS)));
            println!("{cents} cents");
        }
        Err(error) => eprintln!("tracing_bridge: tokio does not start: {error}"),
    }
}

fn terminal<S>() -> impl tracing_subscriber::Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    layer.with_filter(tracing::level_filters::LevelFilter::WARN)
}

/// Serves all orders at once.
async fn serve() -> u64 {
    let mut orders = JoinSet::new();
    for number in 0..ORDERS {
        orders.spawn(order(number).in_current_span());
    }
    let mut cents = 0;
    while let Some(paid) = orders.join_next().await {
        cents += paid.unwrap_or(0);
    }
    cents
}

#[instrument(fields(price = tracing::field::Empty))]
async fn order(number: u64) -> u64 {
    let price = price(number);
    tracing::Span::current().record("price", price);
    tokio::time::sleep(Duration::from_millis(1 + number % 3)).await;
    log::info!(target: "till", "order {number} is paid");
    info!(number, "served");
    price
}

/// A synchronous function: a duration without a track.
#[instrument]
fn price(number: u64) -> u64 {
    (0..1000).fold(number, |price, digit| (price * 31 + digit) % 997)
}
