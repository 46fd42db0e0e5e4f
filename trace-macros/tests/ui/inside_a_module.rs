use trace_macros::trace_fn;

#[trace_fn]
mod shapes {
    pub mod inner {
        #[trace_macros::trace_fn(args(b))]
        pub fn area(a: u8) -> u8 {
            a
        }
    }

    pub struct Ring;

    impl Ring {
        #[trace_macros::trace_fn(skip)]
        #[trace_macros::trace_fn]
        pub fn put(&self) {}
    }
}

fn main() {
    shapes::inner::area(1);
    shapes::Ring.put();
}
