#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trace_fuzz::interleavings(bytes));

/// Without the fuzzer: files to be tried again.
#[cfg(not(fuzzing))]
fn main() {
    for path in std::env::args().skip(1) {
        trace_fuzz::interleavings(&std::fs::read(path).expect("a file that can be read"));
    }
}
