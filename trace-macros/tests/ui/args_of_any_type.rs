use trace_macros::trace_fn;

#[trace_fn(args(value))]
fn store<T>(value: T) {
    let _ = value;
}

fn main() {
    store(1);
}
