use trace_runtime::{ntrace, trace_duration, trace_instant};

#[derive(Debug)]
struct Point {
    x: u64,
}

fn main() {
    trace_duration!("app", "name", "list" => vec![1, 2], "letter" => 'c');
    trace_instant!("app", "name", "first" => 1, "large" => 1u128);
    ntrace::trace_instant!("app", "name", "large" => 1u128);
    let point = Point { x: 1 };
    trace_instant!("app", "name", "x" => point.x, "point" => point);
}
