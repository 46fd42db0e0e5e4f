//! fastrace: spans of a request, collected in thread-local vectors that go to a reporter in another
//! thread.

use std::hint::black_box;
use std::path::Path;

use ::fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use ::fastrace::prelude::{Event, LocalSpan, Span};

use crate::peer::{Peer, Session};

/// fastrace with a reporter that discards.
pub const PEER: Peer = Peer {
    name: "fastrace",
    through_tracing: false,
    off: Some(scope_without_parent),
    scope,
    scope_args: Some(|n| {
        in_requests(n, |i| {
            // Properties are strings, so the number is formatted.
            let _span = LocalSpan::enter_with_local_parent("scope").with_properties(|| {
                [("value", i.to_string().into()), ("text", std::borrow::Cow::Borrowed("short"))]
            });
            black_box(i);
        })
    }),
    instant: Some(|n| {
        in_requests(n, |i| {
            LocalSpan::add_event(Event::new("instant"));
            black_box(i);
        })
    }),
    counter: None,
    start,
};

fn scope(n: u64) {
    in_requests(n, |i| {
        let _span = LocalSpan::enter_with_local_parent("scope");
        black_box(i);
    });
}

/// "Off" means no local parent. (Below a root, spans are collected even without a reporter.)
fn scope_without_parent(n: u64) {
    for i in 0..n {
        let _span = LocalSpan::enter_with_local_parent("scope");
        black_box(i);
    }
}

/// Spans under one root: fastrace records at most 10,240 below a local parent and silently ignores
/// the rest.
const SPANS_A_REQUEST: u64 = 1_000;

/// Calls `point` `n` times, under a new root every [`SPANS_A_REQUEST`].
#[inline(always)]
pub fn in_requests(n: u64, point: impl Fn(i64)) {
    let mut done = 0;
    while done < n {
        let end = n.min(done + SPANS_A_REQUEST);
        let root = Span::root("request", SpanContext::random());
        let _parent = root.set_local_parent();
        for i in done..end {
            point(i as i64);
        }
        done = end;
    }
}

struct Discard;

impl Reporter for Discard {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        black_box(spans);
    }
}

struct Reporting;

/// Collects, and discards.
pub fn start(_file: &Path) -> Box<dyn Session> {
    ::fastrace::set_reporter(Discard, Config::default());
    Box::new(Reporting)
}

impl Session for Reporting {
    fn settle(&mut self) {
        ::fastrace::flush();
    }

    fn finish(self: Box<Self>) {
        ::fastrace::flush();
    }
}
