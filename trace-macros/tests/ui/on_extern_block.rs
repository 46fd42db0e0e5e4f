use trace_macros::trace_fn;

#[trace_fn]
extern "C" {
    fn abs(number: i32) -> i32;
}

fn main() {
    let _ = abs as unsafe extern "C" fn(i32) -> i32;
}
