//! During a recording, arguments are evaluated only if their category is recorded.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

use std::cell::Cell;

use trace_runtime::{
    trace_category_enabled, trace_counter, trace_duration, trace_enabled, trace_instant,
};

#[test]
fn arguments_follow_their_category() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace_runtime::builder()
        .categories(["on"])
        .output(directory.path().join("lazy.fxt"))
        .init();
    let evaluated = Cell::new(0u64);
    let count = || {
        evaluated.set(evaluated.get() + 1);
        evaluated.get()
    };
    let (on, off) = (String::from("on"), String::from("off"));
    assert!(trace_enabled!());
    assert!(trace_category_enabled!("on") && trace_category_enabled!(on));
    assert!(!trace_category_enabled!("off") && !trace_category_enabled!(off));
    {
        trace_duration!("off", "literal", "n" => count());
        trace_duration!("off", format!("name {}", count()), "n" => count());
        trace_duration!(off, "category", "n" => count());
        trace_instant!(off, "instant", "n" => count());
        trace_counter!(off, "counter", count(), "n" => count());
    }
    assert_eq!(evaluated.get(), 0);
    trace_duration!("on", "literal", "n" => count());
    trace_duration!("on", format!("name {}", count()), "n" => count());
    trace_instant!(on, "instant", "n" => count());
    trace_counter!(on, "counter", count(), "n" => count());
    assert_eq!(evaluated.get(), 6);
    drop(trace);
    assert!(!trace_enabled!());
}
