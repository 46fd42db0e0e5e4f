//! One of each macro, with arguments of every type.
//!
//! ```text
//! trace record -- cargo run --example every_macro
//! ```

use std::borrow::Cow;

use trace_runtime::{
    trace_async_begin, trace_async_end, trace_async_enter, trace_async_instant, trace_at,
    trace_blob, trace_blob_attachment, trace_blob_event, trace_category, trace_category_enabled,
    trace_counter, trace_duration, trace_duration_begin, trace_duration_end, trace_enabled,
    trace_flow_begin, trace_flow_end, trace_flow_step, trace_fn, trace_instaflow_begin,
    trace_instaflow_end, trace_instaflow_step, trace_instant, trace_kernel_object, trace_log,
    trace_nonce, trace_process_name, trace_state, trace_thread_name, trace_track,
    trace_userspace_object, ArgValue, BlobType, InstantScope, Koid, ObjectType, Timestamp,
    TraceState, Track,
};

trace_category!("example", "the trace points of this example");

/// The application's own type, recorded as its number.
struct UserId(u64);

impl ArgValue for UserId {
    type Arg<'a> = u64;

    fn arg(&self) -> u64 {
        self.0
    }
}

fn main() {
    let _observer = trace_runtime::observe(|state| {
        if state == TraceState::Started {
            trace_instant!("example", "tracing starts");
        }
    });
    let _trace = trace_runtime::init();
    trace_process_name!("an example of every macro");
    trace_duration!("example", "main");
    arguments();
    explicit_duration();
    instants_and_counters();
    asynchronous();
    guarded_operation();
    flow();
    names_at_run_time("search", 3);
    eprintln!("sum: {}", attribute(40, 2));
    other_times();
    track();
    instaflow();
    data_and_objects();
    eprintln!("recording: {}, category: {}", trace_enabled!(), trace_category_enabled!("example"));
    eprintln!("state: {:?}", trace_state());
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
    trace_instant!("example", "process instant", InstantScope::Process);
    trace_instant!("example", "global instant", InstantScope::Global, "why" => "to show it");
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

/// An operation that ends when its guard is dropped.
fn guarded_operation() {
    let request = trace_async_enter!("example", "guarded request", trace_nonce!(), "url" => "/");
    let worker = std::thread::spawn(move || {
        trace_thread_name!("ends what another began");
        drop(request);
    });
    let _finished = worker.join();
}

/// Events with times of other clocks.
fn other_times() {
    let start = std::time::Instant::now();
    trace_at!(start, instant("example", "a moment ago"));
    trace_at!(start..std::time::Instant::now(), duration_complete("example", "since then"));
    trace_at!(Timestamp::now(), counter("example", "counter", 1, "value" => 3u32));
}

/// Events of a track, without a thread.
fn track() {
    let queue = Track::new("queue of the device");
    trace_track!(queue, duration("example", "submit", "draws" => 12u32));
    trace_track!(queue, instant("example", "interrupt"));
    let now = Timestamp::now();
    trace_track!(queue, at now..Timestamp::now(), duration_complete("example", "draw"));
}

/// A flow through zero-length durations.
fn instaflow() {
    let id = trace_nonce!();
    trace_instaflow_begin!("example", "job", "pushed", id, "length" => 3u32);
    trace_instaflow_step!("example", "job", "scheduled", id);
    trace_instaflow_end!("example", "job", "done", id);
}

/// Records that are no events.
fn data_and_objects() {
    let value = 7u32;
    trace_blob!(BlobType::DATA, "blob", [1, 2, 3]);
    trace_blob_event!("example", "large blob", [4u8; 70_000], "why" => "it is split");
    trace_blob_attachment!("example", "attachment", "text");
    trace_userspace_object!(&raw const value, "seven");
    let process = Koid(u64::from(std::process::id()));
    trace_kernel_object!(7, ObjectType::THREAD, "a thread elsewhere", "process" => process);
    trace_log!("example", "a message with a number, {value}");
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

/// Names that are known only at run time.
fn names_at_run_time(operation: &str, number: u32) {
    trace_duration!("example", format!("{operation} {number}"));
    let category = format!("example:{operation}");
    trace_instant!(category, "dynamic category");
}

#[trace_fn(category = "example", args(left, right))]
fn attribute(left: u64, right: u64) -> u64 {
    left + right
}
