//! Two services that handle requests, with the ids of W3C trace context in the trace.
//!
//! ```text
//! trace record -o services.fxt -- cargo run --release --example traceparent -- [REQUESTS]
//! trace query services.fxt --otlp services.otlp
//! ```
//!
//! The first service gets requests without ids, makes them, and calls the second one, which gets
//! them in the header `traceparent`. Each service is a thread here; between processes, the header
//! is one of HTTP. In OpenTelemetry, each request is a tree: `request`, in it `call`, and in that
//! the `request` of the second service with its `query`.

#![forbid(unsafe_code)]

use std::env;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use trace_runtime::w3c::TraceParent;
use trace_runtime::{trace_duration, trace_thread_name};

/// A request of the first service to the second one.
struct Request {
    traceparent: String,
    article: u64,
    answer: Sender<u64>,
}

fn main() -> ExitCode {
    let _trace = trace_runtime::init();
    let Ok(requests) = env::args().nth(1).map_or(Ok(3), |text| text.parse()) else {
        eprintln!("usage: traceparent [REQUESTS]");
        return ExitCode::from(2);
    };
    let (sender, receiver) = mpsc::channel();
    let service = thread::spawn(move || serve(&receiver));
    trace_thread_name!("shop");
    for article in 0..requests {
        let price = handle(article, &sender);
        println!("article {article} costs {price}");
    }
    drop(sender);
    match service.join() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The first service: handles a request without ids.
fn handle(article: u64, prices: &Sender<Request>) -> u64 {
    let own = TraceParent::random();
    trace_duration!(
        "shop", "request",
        "trace_id" => own.trace_id(),
        "span_id" => own.span_id(),
        "span.kind" => "server",
        "article" => article,
    );
    {
        trace_duration!("shop", "parse");
        std::hint::black_box(article.to_string());
    }
    let call = own.child();
    trace_duration!(
        "shop", "call",
        "trace_id" => call.trace_id(),
        "span_id" => call.span_id(),
        "span.kind" => "client",
    );
    let (answer, answers) = mpsc::channel();
    let request = Request { traceparent: call.to_string(), article, answer };
    // Without the second service, there is no price.
    prices.send(request).ok().and_then(|()| answers.recv().ok()).unwrap_or(0)
}

/// The second service: answers requests until there are no more.
fn serve(requests: &Receiver<Request>) {
    trace_thread_name!("prices");
    for Request { traceparent, article, answer } in requests {
        let caller: Option<TraceParent> = traceparent.parse().ok();
        let own = caller.map_or_else(TraceParent::random, TraceParent::child);
        trace_duration!(
            "prices", "request",
            "trace_id" => own.trace_id(),
            "span_id" => own.span_id(),
            "parent_span_id" => caller.map(|caller| caller.span_id()),
            "span.kind" => "server",
        );
        let price = price(article);
        // The first service may have ended.
        let _ = answer.send(price);
    }
}

fn price(article: u64) -> u64 {
    trace_duration!("prices", "query", "article" => article, "discount" => 0.5, "cached" => article % 2 == 0);
    100 + article
}
