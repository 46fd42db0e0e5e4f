//! Events on a track, at known times, and flows in zero-length durations.

use trace_runtime::{
    trace_at, trace_instaflow_begin, trace_instaflow_end, trace_nonce, trace_track, Timestamp,
    Track,
};

use crate::notes::Notes;
use crate::value::Known;

/// Runs a trace point on a track and notes it: `notes, track, kind, category, name, [id], key =>
/// value, …`.
macro_rules! on {
    ($notes:expr, $track:expr, $kind:ident, $category:literal, $name:tt, [$($tail:expr)?] $(, $key:literal => $value:expr)*) => {{
        trace_track!($track, $kind($category, $name $(, $tail)? $(, $key => $value)*));
        let tail = None::<u64>$(.or(Some($tail)))?;
        let args = [$(($key, Known::known(&$value))),*];
        $notes.event(stringify!($kind), [$category, AsRef::<str>::as_ref(&$name)], tail, &args);
    }};
}

/// A track. Its events are noted like those of a thread.
pub(crate) fn track() -> Notes {
    const NAME: &str = "track of known events";
    let track = Track::new(NAME);
    let mut notes = Notes::of_thread(track.koid(), NAME);
    on!(notes, track, duration_begin, "tracks", "outer", [], "number" => 1u32, "text" => "größe");
    {
        trace_track!(track, duration("tracks", "inner", "number" => 2u64));
        notes.event("duration_begin", ["tracks", "inner"], None, &[("number", 2u64.known())]);
        on!(notes, track, counter, "tracks", "level of the track", [0u64], "value" => 7i64);
        let name = format!("at run {}", "time");
        on!(notes, track, duration_begin, "tracks", name, []);
        on!(notes, track, duration_end, "tracks", name, [], "result" => true);
    }
    notes.event("duration_end", ["tracks", "inner"], None, &[]);
    on!(notes, track, duration_end, "tracks", "outer", []);
    notes
}

/// Events at known times, in order.
pub(crate) fn other_times(notes: &mut Notes) {
    let start = Timestamp::now();
    trace_at!(start, duration_begin("times", "now", "number" => 1u32));
    notes.event("duration_begin", ["times", "now"], None, &[("number", 1u32.known())]);
    trace_at!(Timestamp::now(), duration_end("times", "now"));
    notes.event("duration_end", ["times", "now"], None, &[]);
}

/// A flow between zero-length durations, on a thread of their own.
pub(crate) fn instaflow() -> Notes {
    let thread = std::thread::Builder::new().name("insta".to_owned()).spawn(|| {
        let mut notes = Notes::of_this_thread();
        instaflow_here(&mut notes);
        notes
    });
    thread
        .expect("the system has room for another thread")
        .join()
        .expect("the thread does not panic")
}

fn instaflow_here(notes: &mut Notes) {
    let id = trace_nonce!();
    trace_instaflow_begin!("insta", "job", "pushed", id, "length" => 3u32);
    notes.event("duration_begin", ["insta", "pushed"], None, &[("length", 3u32.known())]);
    notes.event("flow_begin", ["insta", "job"], Some(id), &[]);
    notes.event("duration_end", ["insta", "pushed"], None, &[]);
    trace_instaflow_end!("insta", "job", "done", id);
    notes.event("duration_begin", ["insta", "done"], None, &[]);
    notes.event("flow_end", ["insta", "job"], Some(id), &[]);
    notes.event("duration_end", ["insta", "done"], None, &[]);
}
