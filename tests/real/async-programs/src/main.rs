//! Two async servers under load, traced as their documentation says. The load's clients measure
//! each request and print the lengths, so that the trace can be compared with them.
//!
//! ```text
//! TRACE_OUTPUT=out.fxt async-programs mini-redis|axum [SPEED]
//! ```
//!
//! Waits and pauses are divided by SPEED, 1 by default.

mod http;
mod load;
mod redis;

use tracing_subscriber::prelude::*;

fn main() {
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let trace = trace_runtime::init();
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().expect("mini-redis or axum");
    let speed = arguments.next().map_or(1, |speed| speed.parse().expect("a number as SPEED"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let measured = runtime.block_on(async {
        match &*program {
            "mini-redis" => redis::run(speed).await,
            "axum" => http::run(speed).await,
            other => panic!("{other} is neither mini-redis nor axum"),
        }
    });
    // The servers drop their connections before the recording ends.
    drop(runtime);
    drop(trace);
    println!("{}", serde_json::to_string(&measured).expect("JSON of numbers"));
}
