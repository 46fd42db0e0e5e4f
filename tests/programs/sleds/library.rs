//! A shared library that is built with sleds.

#[no_mangle]
pub extern "C" fn library_function(n: u64) -> u64 {
    in_library(n) + 1
}

#[inline(never)]
fn in_library(n: u64) -> u64 {
    std::hint::black_box(n)
}
