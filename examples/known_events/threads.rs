//! Operations and flows across threads, and unfinished durations.

use std::sync::mpsc;
use std::thread;

use trace_runtime::trace_nonce;

use crate::notes::Notes;
use crate::{known, scope};

pub(crate) fn threads(notes: &mut Notes) -> Vec<Notes> {
    let mut all = vec![requests(notes), unfinished()];
    all.extend(flows(notes));
    all
}

/// Two nested async operations that begin and end here, with an instant on another thread.
fn requests(notes: &mut Notes) -> Notes {
    let (outer, inner) = (u64::MAX, trace_nonce!());
    known!(notes, trace_async_begin, "async", "request", [outer], "url" => "/index.html");
    known!(notes, trace_async_begin, "async", "lookup", [inner]);
    let other = named("antwort größe", move |notes| {
        known!(notes, trace_async_instant, "async", "half done", [outer], "part" => 0.5f64);
        known!(notes, trace_async_end, "async", "lookup", [inner], "found" => false);
    });
    known!(notes, trace_async_end, "async", "request", [outer], "status" => 200u32);
    other
}

/// Flows from this thread's scope through scopes of two other threads, and back.
fn flows(notes: &mut Notes) -> Vec<Notes> {
    let mut all = Vec::new();
    for id in [trace_nonce!(), u64::MAX >> 1] {
        scope!(notes, "flows", "send", ["id" => id] {
            known!(notes, trace_flow_begin, "flows", "message", [id], "bytes" => 100u64);
        });
        for hop in 0..2u32 {
            all.push(named("forwarder", move |notes| {
                scope!(notes, "flows", "forward", ["hop" => hop] {
                    known!(notes, trace_flow_step, "flows", "message", [id], "hop" => hop);
                });
            }));
        }
        scope!(notes, "flows", "receive", [] {
            known!(notes, trace_flow_end, "flows", "message", [id]);
        });
    }
    all
}

/// A thread that is still in its scopes when the process ends.
fn unfinished() -> Notes {
    let (sender, receiver) = mpsc::channel();
    let stays = thread::Builder::new().name("unfinished".to_owned()).spawn(move || {
        let mut notes = Notes::of_this_thread();
        trace_runtime::trace_duration!("open", "outer", "why" => "never ends");
        notes.event(
            "scope_begin",
            ["open", "outer"],
            None,
            &[("why", crate::value::Known::known("never ends"))],
        );
        trace_runtime::trace_duration!("open", "inner");
        notes.event("scope_begin", ["open", "inner"], None, &[]);
        known!(notes, trace_duration_begin, "open", "explicit", [], "depth" => 3u32);
        known!(notes, trace_instant, "open", "last", []);
        let _received = sender.send(notes);
        loop {
            thread::park();
        }
    });
    let _detached = stays.expect("the system has room for another thread");
    receiver.recv().expect("the thread sends its notes")
}

/// Runs a thread to its end.
fn named(name: &str, run: impl FnOnce(&mut Notes) + Send + 'static) -> Notes {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let mut notes = Notes::of_this_thread();
        run(&mut notes);
        notes
    });
    thread
        .expect("the system has room for another thread")
        .join()
        .expect("the thread does not panic")
}
