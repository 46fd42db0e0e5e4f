#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trace_fuzz::xray_yaml(bytes));

/// Without the fuzzer: files to be tried again.
#[cfg(not(fuzzing))]
fn main() {
    for path in std::env::args().skip(1) {
        trace_fuzz::xray_yaml(&std::fs::read(path).expect("a file that can be read"));
    }
}
