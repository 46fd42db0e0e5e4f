use trace_macros::trace_fn;

#[trace_fn(ret)]
mod shapes {
    pub fn area() {}
}

#[trace_fn(flow = 1)]
trait Shape {
    fn area(&self) {}
}

impl Shape for u8 {}

#[trace_fn(args, skip(a))]
mod points {
    pub fn put(a: u8) {
        let _ = a;
    }
}

fn main() {
    shapes::area();
    1u8.area();
    points::put(1);
}
