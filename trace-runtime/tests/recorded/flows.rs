//! Flow events with their own durations.

use trace_runtime::{
    trace_async_enter, trace_instaflow_begin, trace_instaflow_end, trace_instaflow_step,
};

use crate::archive::{find, lines, Recording};

#[test]
fn three_records_have_one_time() {
    let recording = Recording::start();
    let (category, step) = (String::from("insta"), String::from("stepped"));
    trace_instaflow_begin!("insta", "job", "begun", 5, "a" => 1u32, "b" => "text");
    trace_instaflow_step!("insta", "job", step, 5);
    trace_instaflow_end!(category, "job", format!("{} {}", "ended", 3), 5, "a" => true);
    let records = recording.end();
    assert_eq!(
        lines(&records, "insta/"),
        [
            "begin insta/begun a=1 b=text",
            "flow begin(5) insta/job",
            "end insta/begun",
            "begin insta/stepped",
            "flow step(5) insta/job",
            "end insta/stepped",
            "begin insta/ended 3 a=Bool(true)",
            "flow end(5) insta/job",
            "end insta/ended 3",
        ]
    );
    for three in find(&records, "insta/").chunks(3) {
        assert!(three.iter().all(|record| record.ticks == three[0].ticks));
    }
}

/// An operation ends when its guard is dropped, in its own recording.
#[test]
fn an_operation_ends_with_its_guard() {
    let recording = Recording::start();
    let ids = [3u64, 4];
    let [request, other] =
        ids.map(|id| trace_async_enter!("guard", "request", id, "url" => "/", "id" => id));
    let thread = std::thread::spawn(move || drop(request));
    thread.join().unwrap();
    let records = recording.end();
    let expected = [
        "async begin(3) guard/request url=/ id=3",
        "async begin(4) guard/request url=/ id=4",
        "async end(3) guard/request",
    ];
    let mut found = lines(&records, "guard/");
    found.sort_unstable();
    assert_eq!(found, expected);
    let recording = Recording::start();
    drop(other);
    assert_eq!(lines(&recording.end(), "guard/"), Vec::<String>::new());
}

#[test]
fn nothing_is_evaluated_while_off() {
    let recording = Recording::with(|builder| builder.categories(["on"]));
    let mut evaluated = 0;
    let mut count = || {
        evaluated += 1;
        1u64
    };
    trace_instaflow_begin!("off", "job", "begun", count(), "a" => count());
    trace_instaflow_begin!("off", "job", format!("{}", count()), count());
    trace_instaflow_begin!(String::from("off"), "job", format!("{}", count()), count());
    drop(trace_async_enter!("off", "operation", count(), "a" => count()));
    assert_eq!(evaluated, 0);
    assert_eq!(lines(&recording.end(), "off/").len(), 0);
}
