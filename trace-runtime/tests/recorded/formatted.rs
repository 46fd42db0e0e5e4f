//! Values that are recorded as text.

use std::fmt;
use std::path::Path;

use trace_runtime::{
    trace_async_begin, trace_async_enter, trace_at, trace_blob_event, trace_duration,
    trace_flow_begin, trace_future_args, trace_instaflow_begin, trace_instant, trace_kernel_object,
    trace_track, trace_userspace_object, InstantScope, ObjectType, Timestamp, TraceFutureExt,
    Track,
};

use crate::archive::{alone, lines, Recording};

/// A type without `ArgValue`, with two texts.
struct Point(i32);

impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "debug {}", self.0)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "display {}", self.0)
    }
}

#[test]
fn both_texts_stand_beside_typed_values() {
    let _alone = alone();
    let recording = Recording::start();
    let (point, path) = (Point(1), Path::new("/tmp"));
    {
        trace_duration!("text", "scope", "a" => ?point, "b" => 7u64, "c" => %point, "d" => %path.display());
    }
    trace_instant!("text", "instant", "a" => %point);
    trace_instant!("text", "instant", InstantScope::Process, "b" => 1, "a" => ?Some(Point(2)),);
    trace_async_begin!("text", "async", 3, "a" => ?point);
    drop(trace_async_enter!("text", "entered", 4, "a" => %point));
    trace_flow_begin!("text", "flow", 5, "a" => ?point);
    trace_instaflow_begin!("text", "instaflow", "step", 6, "a" => %point);
    trace_at!(Timestamp::now(), instant("text", "at", "a" => ?point));
    let track = Track::new("track");
    trace_track!(track, instant("text", "on track", "a" => ?point));
    trace_instant!("text", format!("run {}", 1), "a" => %point);
    let archive = recording.end();
    let expected = [
        ("scope", r#"a=debug 1 b=7 c=display 1 d=/tmp"#),
        ("async", "a=debug 1"),
        ("entered", "a=display 1"),
        ("flow", "a=debug 1"),
        ("step", "a=display 1"),
        ("at", "a=debug 1"),
        ("on track", "a=debug 1"),
        ("run 1", "a=display 1"),
    ];
    for (name, arguments) in expected {
        let found = lines(&archive, &format!("text/{name}"));
        assert!(found.first().is_some_and(|line| line.ends_with(arguments)), "{name}: {found:?}");
    }
    let instants = lines(&archive, "text/instant");
    assert!(instants[0].ends_with("a=display 1"), "{instants:?}");
    assert!(instants[1].ends_with("b=1 a=Some(debug 2)"), "{instants:?}");
}

/// `?value` and `%value` compile in all macros, and nothing is formatted while nothing is recorded.
#[test]
fn nothing_is_formatted_while_off() {
    struct Never;
    impl fmt::Debug for Never {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("a value is formatted although nothing is recorded");
        }
    }
    let _alone = alone();
    trace_duration!("text", "scope", "a" => ?Never);
    trace_blob_event!("text", "blob", [1u8], "a" => ?Never);
    let never = Never;
    trace_userspace_object!(&raw const never, "object", "a" => ?Never);
    trace_kernel_object!(7, ObjectType::THREAD, "thread", "a" => ?Never);
    drop(std::future::ready(()).trace(trace_future_args!("text", "future", "a" => ?Never)));
}
