//! One record of each kind other than plain events, before and after a flood that overwrites a
//! circular buffer many times.

use std::path::PathBuf;
use std::time::Duration;

use trace_runtime::context::format::encode;
use trace_runtime::context::format::record::{Event, EventKind, Record, Text, Thread};
use trace_runtime::context::Context;
use trace_runtime::{
    trace_at, trace_blob, trace_blob_attachment, trace_blob_event, trace_instaflow_begin,
    trace_instant, trace_kernel_object, trace_log, trace_process_name, trace_thread_name,
    trace_track, trace_userspace_object, BlobType, ObjectType, TraceState, Track,
};

/// Koid of a thread that is registered by hand.
const OTHER_THREAD: u64 = 4711;

/// Records one of each, `events` instants, and one of each.
pub(crate) fn run(events: u64) {
    let early = Track::new("early track");
    trace_process_name!("chosen process name");
    let _trace = crate::init();
    trace_thread_name!("main thread with a long name");
    let context = Context::acquire().expect("the session has begun");
    one_of_each(context, early, 1);
    for number in 0..events {
        trace_instant!("flood", "flood", "number" => number);
        if number % 1000 == 0 {
            // Slow enough for the manager.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    one_of_each(context, early, 2);
    one_of_each(context, Track::with_id("late track", 3), 3);
}

fn one_of_each(context: Context, track: Track, number: u64) {
    trace_at!(std::time::Instant::now(), instant("instruments", "at", "number" => number));
    {
        trace_track!(track, duration("instruments", "on track", "number" => number));
        trace_track!(track, instant("instruments", "moment of track", "number" => number));
    }
    trace_instaflow_begin!("instruments", "flow", "insta", number, "number" => number);
    trace_blob!(BlobType::DATA, "blob", [1u8; 100]);
    trace_blob_event!("instruments", "blob event", [2u8; 100_000], "number" => number);
    trace_blob_attachment!("instruments", "attachment", [3u8; 40_000]);
    trace_userspace_object!(&raw const number, "number");
    trace_kernel_object!(number, ObjectType(100), "object");
    trace_log!("instruments", "message {number}");
    by_hand(context, number);
}

/// Writes an event of another thread, whose thread and names are registered.
fn by_hand(context: Context, number: u64) {
    let thread = context.register_thread(1, OTHER_THREAD).expect("there is room for a thread");
    let text = |text| context.register_string(text).and_then(|string| string.index());
    let [category, name] =
        ["instruments", "by hand"].map(|name| text(name).expect("there is room"));
    let mut words = Vec::new();
    let event = Event {
        ticks: trace_runtime::Timestamp::now().ticks(),
        thread: Thread::Indexed(thread.bits()),
        category: Text::Indexed(category),
        name: Text::Indexed(name),
        kind: EventKind::AsyncBegin { id: number },
        arguments: (&[]).into(),
    };
    encode::append(&mut words, &Record::from(event)).expect("it is small");
    let _found_room = context.write_record(&words);
}

/// Names and records, and is killed at once.
pub(crate) fn be_killed() {
    let _trace = crate::init();
    trace_thread_name!("named just before the end");
    let track = Track::new("track just before the end");
    trace_track!(track, duration("instruments", "open on track"));
    trace_blob_event!("instruments", "last data", [1u8; 1000]);
    crate::sys::kill(std::process::id() as i32, libc::SIGKILL);
}

/// Runs a slow observer of the start, which then creates `file`.
pub(crate) fn observe_slowly(file: PathBuf) {
    let _observer = trace_runtime::observe(move |state| {
        if state == TraceState::Started {
            std::thread::sleep(Duration::from_millis(300));
            std::fs::write(&file, "started").expect("the file can be written");
        }
    });
    crate::ending::idle();
}
