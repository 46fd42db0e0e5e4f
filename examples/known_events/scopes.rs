//! Durations: nested, explicit, ended by return and by panic, and by attribute.

use std::panic;

use trace_runtime::trace_fn;

use crate::notes::Notes;
use crate::{known, scope};

pub(crate) fn scopes(notes: &mut Notes) {
    nested(notes, 0);
    explicit(notes);
    unwound(notes);
    scope!(notes, "scopes", "without anything in it", [] {});
    let name = "at run time".to_owned();
    let category = "scopes:dynamic".to_owned();
    scope!(notes, "scopes", name, ["name" => &name] {
        scope!(notes, category, name, [] {});
    });
    attributes(notes);
}

fn nested(notes: &mut Notes, depth: u32) {
    if depth == 40 {
        return known!(notes, trace_instant, "scopes", "bottom", [], "depth" => depth);
    }
    scope!(notes, "scopes", "nested", ["depth" => depth] {
        nested(notes, depth + 1);
        known!(notes, trace_instant, "scopes", "back", [], "depth" => depth);
    });
}

fn explicit(notes: &mut Notes) {
    for round in 0..3u32 {
        known!(notes, trace_duration_begin, "scopes", "explicit", [], "round" => round);
        scope!(notes, "scopes", "within", [] {});
        let name = format!("inner {round}");
        known!(notes, trace_duration_begin, "scopes", name, []);
        known!(notes, trace_duration_end, "scopes", name, [], "result" => -1i64);
        known!(notes, trace_duration_end, "scopes", "explicit", [], "result" => "done");
    }
}

/// A panic ends the scopes that it unwinds, the innermost first.
fn unwound(notes: &mut Notes) {
    let outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        scope!(notes, "scopes", "outer of a panic", [] {
            scope!(notes, "scopes", "inner of a panic", [] {
                unwind();
            });
        });
    }));
    assert!(outcome.is_err(), "the panic comes out");
    notes.event("scope_end", ["scopes", "inner of a panic"], None, &[]);
    notes.event("scope_end", ["scopes", "outer of a panic"], None, &[]);
}

/// Panics without a message.
fn unwind() {
    panic::resume_unwind(Box::new("on purpose"));
}

struct Attributed;

#[trace_fn(category = "scopes")]
impl Attributed {
    #[trace_fn(name = "by attribute", args(left, sum = left + right))]
    fn add(left: u64, right: u64) -> u64 {
        left + right
    }

    fn method(&self) {}
}

fn attributes(notes: &mut Notes) {
    use crate::value::Known;
    let sum = Attributed::add(40, 2);
    notes.event(
        "scope_begin",
        ["scopes", "by attribute"],
        None,
        &[("left", 40u64.known()), ("sum", sum.known())],
    );
    notes.event("scope_end", ["scopes", "by attribute"], None, &[]);
    Attributed.method();
    notes.event("scope_begin", ["scopes", "Attributed::method"], None, &[]);
    notes.event("scope_end", ["scopes", "Attributed::method"], None, &[]);
}
