use trace_macros::trace_fn;

#[trace_fn]
pub const fn double(number: u32) -> u32 {
    number * 2
}

const FOUR: u32 = double(2);

fn main() {
    let _ = FOUR;
}
