use trace_runtime::{trace_counter, trace_duration};

struct Plain;

fn main() {
    trace_duration!("app", "name", "a" => ?Plain, "b" => %Plain);
    trace_counter!("app", "name", 0, "a" => ?7);
}
