//! Traced futures on tokio: spawned, joined, selected, and dropped.
//!
//! ```text
//! trace record -o tasks.fxt -- cargo run --example async_tasks
//! ```
//!
//! Each task has a track of its own. Its polls are on the threads that ran them, joined by arrows.

use std::time::Duration;

use tokio::task::JoinSet;
use trace_runtime::{trace_duration, trace_fn, trace_future_args, TraceFutureExt};

/// Number of pages.
const PAGES: u64 = 12;

fn main() {
    let _trace = trace_runtime::init();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    match runtime {
        Ok(runtime) => {
            let words = runtime.block_on(crawl().trace(trace_future_args!("example", "crawl")));
            println!("{words} words");
        }
        Err(error) => eprintln!("async_tasks: tokio does not start: {error}"),
    }
}

/// Fetches all pages at once. This future is the parent of their tasks.
async fn crawl() -> usize {
    let mut pages = JoinSet::new();
    for number in 0..PAGES {
        let url = format!("/page/{number}");
        pages.spawn(page(number).trace(trace_future_args!("example", "page", "url" => url)));
    }
    let mut words = 0;
    while let Some(counted) = pages.join_next().await {
        words += counted.unwrap_or(0);
    }
    words
}

/// Fetches a page and its picture concurrently.
async fn page(number: u64) -> usize {
    let (text, _picture) = tokio::join!(
        text(number),
        picture(number).trace(trace_future_args!("example", "picture", "number" => number)),
    );
    words(&text)
}

/// Fetches a picture, which times out for every third page.
async fn picture(number: u64) -> Option<Vec<u8>> {
    let patience = Duration::from_millis(4);
    let takes = Duration::from_millis(if number % 3 == 0 { 60_000 } else { 1 });
    let download = tokio::time::sleep(takes).trace(trace_future_args!("example", "download"));
    tokio::select! {
        // A completed download wins, even after the timeout.
        biased;
        () = download => Some(vec![0; 1024]),
        // A pending download is dropped, which cancels its task.
        () = tokio::time::sleep(patience) => None,
    }
}

/// With the attribute each call is a task.
#[trace_fn(category = "example", args(number))]
async fn text(number: u64) -> String {
    tokio::time::sleep(Duration::from_millis(number % 5)).await;
    "the quick brown fox ".repeat(100 * (number as usize + 1))
}

fn words(text: &str) -> usize {
    // A scope between two awaits is like any other.
    trace_duration!("example", "count words", "bytes" => text.len());
    text.split_whitespace().count()
}
