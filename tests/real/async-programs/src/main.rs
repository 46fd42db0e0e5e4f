//! Two async servers under load, traced as their documentation says. The load's clients measure
//! each request and print the lengths, so that the trace can be compared with them.
//!
//! ```text
//! TRACE_OUTPUT=out.fxt async-programs mini-redis|axum [SPEED]
//! ```
//!
//! Waits and pauses are divided by SPEED, 1 by default.
//!
//! ```text
//! trace record --sched -- async-programs redis-load REQUESTS
//! ```

mod http;
mod load;
mod redis;
mod redis_load;

use load::Measured;
use tracing_subscriber::prelude::*;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().expect("mini-redis, axum or redis-load");
    tracing_subscriber::registry().with(trace_tracing::layer()).init();
    let trace = trace_runtime::init();
    let number = arguments.next().map_or(1, |number| number.parse().expect("a number"));
    let measured = match &*program {
        "redis-load" => redis_load::run(number.into()),
        program => of_waits(program, number),
    };
    drop(trace);
    println!("{}", serde_json::to_string(&measured).expect("JSON of numbers"));
}

/// Measures requests with known waits.
fn of_waits(program: &str, speed: u32) -> Measured {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    // The servers drop their connections before the recording ends, with the runtime.
    runtime.block_on(async {
        match program {
            "mini-redis" => redis::run(speed).await,
            "axum" => http::run(speed).await,
            other => panic!("{other} is neither mini-redis nor axum"),
        }
    })
}
