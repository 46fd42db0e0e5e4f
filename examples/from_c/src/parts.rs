//! The parts in C and C++.

use std::ffi::CStr;

mod declared {
    use std::ffi::c_char;

    extern "C" {
        pub(super) fn count_words(text: *const c_char) -> u64;
        pub(super) fn longest_word(text: *const c_char) -> usize;
        pub(super) fn cost_scope(count: u64);
        pub(super) fn cost_scope_with_arguments(count: u64);
        pub(super) fn cost_instant(count: u64);
        pub(super) fn cost_off(count: u64);
    }
}

/// Returns the number of words in a text.
pub(crate) fn count_words(text: &CStr) -> u64 {
    // SAFETY: it reads the text up to its end.
    unsafe { declared::count_words(text.as_ptr()) }
}

/// Returns the length of a text's longest word.
pub(crate) fn longest_word(text: &CStr) -> usize {
    // SAFETY: it reads the text up to its end.
    unsafe { declared::longest_word(text.as_ptr()) }
}

macro_rules! loops {
    ($($name:ident),*) => {$(
        /// A loop over one trace point.
        pub(crate) fn $name(count: u64) {
            // SAFETY: it takes any number.
            unsafe { declared::$name(count) }
        }
    )*};
}

loops!(cost_scope, cost_scope_with_arguments, cost_instant, cost_off);
