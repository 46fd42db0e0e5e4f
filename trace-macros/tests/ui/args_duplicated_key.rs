use trace_macros::trace_fn;

#[trace_fn(args(a, b, a = a + b))]
fn load(a: u32, b: u32) -> u32 {
    a + b
}

fn main() {
    load(1, 2);
}
