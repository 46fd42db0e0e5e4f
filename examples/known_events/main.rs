//! Records a known set of events, and writes them to a file too, so that readers of the trace can
//! be compared with the file event by event.
//!
//! ```text
//! KNOWN_EVENTS=expected.jsonl trace record -- cargo run --example known_events
//! ```
//!
//! Each line of the file at `KNOWN_EVENTS` is a JSON object: see `notes.rs`. The events of one
//! thread are in their order.

#![forbid(unsafe_code)]

mod crowd;
mod notes;
mod scopes;
mod threads;
mod tracks;
mod value;
mod values;

use std::time::Duration;

use notes::Notes;

/// Pauses, so that full buffers can be saved and a small buffer loses no records. A busy machine
/// takes longer for that: `KNOWN_EVENTS_PAUSE_MS` has another time.
fn pause() {
    let pause = std::env::var("KNOWN_EVENTS_PAUSE_MS").ok();
    let millis = pause.map_or(20, |pause| pause.parse().expect("a number of milliseconds"));
    std::thread::sleep(Duration::from_millis(millis));
}

fn main() -> std::io::Result<()> {
    let trace = trace_runtime::init();
    let notes = everything();
    drop(trace);
    match std::env::var_os("KNOWN_EVENTS") {
        Some(path) => notes::write(path.as_ref(), &notes),
        None => Ok(()),
    }
}

/// All events, in a scope that spans them all.
fn everything() -> Vec<Notes> {
    let mut notes = Notes::of_this_thread();
    let mut all = Vec::new();
    scope!(notes, "known", "main", [] {
        values::values(&mut notes);
        values::strings(&mut notes);
        values::counters(&mut notes);
        values::names_at_run_time(&mut notes);
        scopes::scopes(&mut notes);
        tracks::other_times(&mut notes);
        all.extend([tracks::instaflow(), tracks::track()]);
        all.extend(threads::threads(&mut notes));
        all.extend(crowd::crowd(&mut notes));
    });
    all.push(notes);
    all
}
