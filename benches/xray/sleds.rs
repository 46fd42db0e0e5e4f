//! Calls of a function whose sleds the compiler emits, if it is asked to.

mod timing;

#[inline(never)]
fn target(number: u64) -> u64 {
    std::hint::black_box(number)
}

fn main() {
    timing::print(target);
}
