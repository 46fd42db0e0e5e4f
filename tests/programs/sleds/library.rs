//! A shared library that is built with sleds. With `--cfg other`, one function has another name.

#[no_mangle]
pub extern "C" fn library_function(n: u64) -> u64 {
    inside(n) + 1
}

#[cfg(other)]
use in_another as inside;
#[cfg(not(other))]
use in_library as inside;

#[cfg(not(other))]
#[inline(never)]
fn in_library(n: u64) -> u64 {
    std::hint::black_box(n)
}

#[cfg(other)]
#[inline(never)]
fn in_another(n: u64) -> u64 {
    std::hint::black_box(n)
}
