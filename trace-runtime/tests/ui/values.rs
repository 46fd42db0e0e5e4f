use trace_runtime::{ntrace, trace_duration, trace_instant};

fn main() {
    trace_duration!("app", "name", "list" => vec![1, 2], "letter" => 'c');
    trace_instant!("app", "name", "first" => 1, "large" => 1u128);
    ntrace::trace_instant!("app", "name", "large" => 1u128);
}
