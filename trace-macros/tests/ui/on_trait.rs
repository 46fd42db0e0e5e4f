use trace_macros::trace_fn;

#[trace_fn]
trait Shape {
    fn area(&self) -> f64;
}

impl Shape for f64 {
    fn area(&self) -> f64 {
        *self
    }
}

fn main() {
    let _ = 1.0.area();
}
