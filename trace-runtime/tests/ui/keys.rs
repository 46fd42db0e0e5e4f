use trace_runtime::trace_instant;

fn main() {
    trace_instant!("app", "name", "same" => 1, "other" => 2, "same" => 3);
}
