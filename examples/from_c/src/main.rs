//! A program in Rust with parts in C and C++: one trace has all of them.

mod cost;
mod parts;

// Linked for the trace points of the parts.
extern crate trace_c as _;

use trace_runtime::trace_duration;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("cost") {
        return cost::print();
    }
    let _trace = trace_runtime::init();
    let text = c"parts in C and C++ are in the same trace";
    trace_duration!("app", "look at a text", "text" => text.to_str().unwrap_or_default());
    println!(
        "{} words, the longest of {} letters",
        parts::count_words(text),
        parts::longest_word(text)
    );
}
