//! Events on tracks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use trace_runtime::{trace_instant, trace_track, Timestamp, Track};

use crate::archive::{find, lines, Recorded, Recording};

#[test]
fn events_are_on_their_track() {
    let before = Track::new("made before");
    let recording = Recording::start();
    let during = Track::with_id("made during", 7);
    {
        trace_track!(before, duration("track", "scope", "a" => 1u32));
        trace_track!(&during, instant("track", "moment"));
        trace_track!(during, counter("track", "counter", 0, "v" => 5u32));
        trace_instant!("track", "of the thread");
    }
    trace_track!(during, duration_begin("track", "explicit"));
    trace_track!(during, duration_end("track", "explicit"));
    trace_track!(during, async_begin("track", "async", 3));
    trace_track!(during, flow_end("track", "flow", 4, "a" => "text"));
    let at = Timestamp::from_ticks;
    trace_track!(during, at at(50)..at(60), duration_complete("track", "done"));
    trace_track!(during, at at(70), instant("track", "then", "a" => 2u32));
    let records = recording.end();
    let on = |track: Track| -> Vec<String> {
        let own = records.iter().filter(|record| record.thread == track.koid());
        own.map(|record| {
            format!("{} {}", record.process == u64::from(std::process::id()), record.text)
        })
        .collect()
    };
    assert_eq!(on(before), ["true begin track/scope a=1", "true end track/scope"]);
    assert_eq!(
        on(during),
        [
            "true instant(Thread) track/moment",
            "true counter(0) track/counter v=5",
            "true begin track/explicit",
            "true end track/explicit",
            "true async begin(3) track/async",
            "true flow end(4) track/flow a=text",
            "true complete(60) track/done",
            "true instant(Thread) track/then a=2",
        ]
    );
    let times: Vec<u64> = find(&records, "track/done")
        .iter()
        .chain(&find(&records, "track/then"))
        .map(|record| record.ticks)
        .collect();
    assert_eq!(times, [50, 70]);
    assert_ne!(find(&records, "of the thread")[0].thread, before.koid());
    let process = std::process::id();
    assert_eq!(
        lines(&records, "made "),
        [
            format!("kernel 2 {:#x} made before process=#{process}", before.koid()),
            format!("kernel 2 {:#x} made during process=#{process}", during.koid()),
        ]
    );
}

/// A track has its name in each recording, and its scopes may end on another thread.
#[test]
fn a_scope_ends_when_it_is_dropped() {
    let track = Track::new("wanderer");
    Recording::start().end();
    let recording = Recording::start();
    let mut task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
        let name = String::from("run time");
        trace_track!(track, duration("wander", name));
        trace_track!(track, duration("wander", "inner"));
        Once(false).await;
    });
    assert!(poll(&mut task).is_pending());
    let other = std::thread::spawn(move || assert!(poll(&mut task).is_ready()));
    other.join().unwrap();
    let records = recording.end();
    let mut own: Vec<&Recorded> =
        records.iter().filter(|record| record.thread == track.koid()).collect();
    own.sort_by_key(|record| record.ticks);
    let own: Vec<&str> = own.iter().map(|record| record.text.as_str()).collect();
    // A name that is not a literal is only in the beginning.
    assert_eq!(
        own,
        ["begin wander/run time", "begin wander/inner", "end wander/inner", "end wander/"]
    );
    let name = format!("kernel 2 {:#x} wanderer process=#{}", track.koid(), std::process::id());
    assert_eq!(lines(&records, "wanderer"), [name]);
}

/// A future that is ready at its second poll.
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

fn poll(task: &mut Pin<Box<dyn Future<Output = ()> + Send>>) -> Poll<()> {
    task.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// The end of a scope that began in an earlier recording is not in the next one.
#[test]
fn a_scope_ends_in_its_own_recording() {
    let track = Track::new("over");
    let first = Recording::start();
    let wait = {
        trace_track!(track, duration("over", "two recordings"));
        let records = first.end();
        assert_eq!(lines(&records, "over/"), ["begin over/two recordings"]);
        Recording::start()
    };
    assert_eq!(lines(&wait.end(), "over/"), Vec::<String>::new());
}

#[test]
fn nothing_is_evaluated_while_off() {
    let recording = Recording::with(|builder| builder.categories(["on"]));
    let track = Track::new("off");
    let mut evaluated = 0;
    let mut count = || {
        evaluated += 1;
        1u64
    };
    trace_track!(track, duration("off", "scope", "a" => count()));
    trace_track!(track, instant("off", "instant", "a" => count()));
    trace_track!(track, at Timestamp::from_ticks(count()), instant("off", "instant"));
    assert_eq!(evaluated, 0);
    assert_eq!(lines(&recording.end(), "off/").len(), 0);
}
