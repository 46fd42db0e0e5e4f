use trace_macros::trace_fn;

#[trace_fn(category = "storage", name = "n", category = "disk")]
fn load() {}

#[trace_fn(args(a), args(b))]
fn store(a: u32, b: u32) -> u32 {
    a + b
}

fn main() {
    load();
    store(1, 2);
}
