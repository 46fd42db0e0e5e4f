use trace_macros::trace_fn;

#[trace_fn]
pub struct Point {
    x: i32,
}

fn main() {
    let _ = Point { x: 1 }.x;
}
