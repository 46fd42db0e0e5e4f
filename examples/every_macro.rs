//! One of each macro, with arguments of every type.
//!
//! ```text
//! trace record -- cargo run --example every_macro
//! ```

use std::borrow::Cow;

use trace_runtime::{
    trace_async_begin, trace_async_end, trace_async_instant, trace_category,
    trace_category_enabled, trace_counter, trace_duration, trace_duration_begin,
    trace_duration_end, trace_enabled, trace_flow_begin, trace_flow_end, trace_flow_step, trace_fn,
    trace_instant, trace_nonce, ArgValue, Koid, Scope,
};

trace_category!("example", "the trace points of this example");

/// A type of the application's own, recorded as its number.
struct UserId(u64);

impl ArgValue for UserId {
    type Arg<'a> = u64;

    fn arg(&self) -> u64 {
        self.0
    }
}

fn main() {
    let _trace = trace_runtime::init();
    trace_duration!("example", "main");
    arguments();
    explicit_duration();
    instants_and_counters();
    asynchronous();
    flow();
    names_at_run_time("search", 3);
    eprintln!("sum: {}", attribute(40, 2));
    eprintln!("recording: {}, category: {}", trace_enabled!(), trace_category_enabled!("example"));
}

/// Every type of argument.
fn arguments() {
    let (text, owned) = ("text", String::from("owned"));
    let cow = Cow::Borrowed("borrowed");
    trace_duration!(
        "example", "arguments",
        "null" => (), "bool" => true, "i32" => -1i32, "u32" => 2u32, "i64" => -3i64, "u64" => 4u64,
        "usize" => 5usize, "f32" => 0.5f32, "f64" => 0.25f64, "str" => text, "String" => owned, "Cow" => cow,
        "pointer" => &raw const text, "koid" => Koid(u64::from(std::process::id())), "own type" => UserId(7),
    );
}

/// A duration that does not follow a block.
fn explicit_duration() {
    trace_duration_begin!("example", "explicit", "step" => 1u32);
    trace_duration_end!("example", "explicit", "result" => "done");
}

fn instants_and_counters() {
    trace_instant!("example", "thread instant");
    trace_instant!("example", "process instant", Scope::Process);
    trace_instant!("example", "global instant", Scope::Global, "why" => "to show it");
    for value in 0..10i64 {
        trace_counter!("example", "counter", 0, "value" => value, "square" => value * value);
    }
}

/// An operation that begins on one thread and ends on another.
fn asynchronous() {
    let id = trace_nonce!();
    trace_async_begin!("example", "request", id, "url" => "/index.html");
    let worker = std::thread::Builder::new().name("responder".to_owned()).spawn(move || {
        trace_async_instant!("example", "half done", id);
        trace_async_end!("example", "request", id, "status" => 200u32);
    });
    let _finished = worker.map(|worker| worker.join());
}

/// An arrow from this thread's duration to that of another, and back.
fn flow() {
    let id = trace_nonce!();
    {
        trace_duration!("example", "send");
        trace_flow_begin!("example", "message", id);
    }
    let worker = std::thread::spawn(move || {
        trace_duration!("example", "handle");
        trace_flow_step!("example", "message", id);
    });
    let _finished = worker.join();
    trace_duration!("example", "receive");
    trace_flow_end!("example", "message", id);
}

/// Names that only the running program knows.
fn names_at_run_time(operation: &str, number: u32) {
    trace_duration!("example", format!("{operation} {number}"));
    let category = format!("example:{operation}");
    trace_instant!(category, "dynamic category");
}

#[trace_fn(category = "example", args(left, right))]
fn attribute(left: u64, right: u64) -> u64 {
    left + right
}
