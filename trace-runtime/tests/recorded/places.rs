//! Events at given times.

use std::time::{Duration, Instant, SystemTime};

use trace_runtime::{trace_at, trace_instant, InstantScope, Timestamp};

use crate::archive::{find, lines, this_thread, Recording};

/// Every kind of event, at times out of order, on this thread.
#[test]
fn events_have_the_given_time() {
    let at = |ticks: u64| Timestamp::from_ticks(ticks);
    let name = String::from("run time");
    let recording = Recording::start();
    trace_at!(at(900), instant("at", "instant", "a" => 1u32));
    trace_at!(at(100), instant("at", "process", InstantScope::Process));
    trace_at!(at(101), counter("at", "counter", 7, "v" => 2u64));
    trace_at!(at(102), duration_begin("at", "pair", "a" => "b"));
    trace_at!(at(103), duration_end("at", "pair"));
    trace_at!(at(104)..at(204), duration_complete("at", "complete", "a" => 3u32));
    trace_at!(at(105), async_begin("at", "async", 1));
    trace_at!(at(106), async_instant("at", "async", 1));
    trace_at!(at(107), async_end("at", "async", 1));
    trace_at!(at(108), flow_begin("at", "flow", 2));
    trace_at!(at(109), flow_step("at", "flow", 2));
    trace_at!(at(110), flow_end("at", "flow", 2));
    trace_at!(at(111), instant("at", name, "a" => 4u32));
    trace_at!(at(112)..at(113), duration_complete("at", name));
    let records = recording.end();
    let found = find(&records, " at/");
    let (texts, ticks): (Vec<&str>, Vec<u64>) =
        found.iter().map(|record| (record.text.as_str(), record.ticks)).unzip();
    assert_eq!(
        texts,
        [
            "instant(Thread) at/instant a=1",
            "instant(Process) at/process",
            "counter(7) at/counter v=2",
            "begin at/pair a=b",
            "end at/pair",
            "complete(204) at/complete a=3",
            "async begin(1) at/async",
            "async instant(1) at/async",
            "async end(1) at/async",
            "flow begin(2) at/flow",
            "flow step(2) at/flow",
            "flow end(2) at/flow",
            "instant(Thread) at/run time a=4",
            "complete(113) at/run time",
        ]
    );
    assert_eq!(ticks, [900, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112]);
    assert!(found.iter().all(|record| record.thread == this_thread()));
}

/// Converted times of other clocks are in order with those of trace points.
#[test]
fn foreign_clocks_become_ticks() {
    let recording = Recording::start();
    std::thread::sleep(Duration::from_millis(30));
    trace_instant!("clocks", "first");
    std::thread::sleep(Duration::from_millis(2));
    let (instant, system) = (Instant::now(), SystemTime::now());
    std::thread::sleep(Duration::from_millis(2));
    trace_instant!("clocks", "last");
    trace_at!(instant, instant("clocks", "instant"));
    trace_at!(system, instant("clocks", "system"));
    trace_at!(instant - Duration::from_secs(1), instant("clocks", "before"));
    trace_at!(instant..Instant::now(), duration_complete("clocks", "since"));
    let records = recording.end();
    let ticks = |name: &str| find(&records, name)[0].ticks;
    for name in ["clocks/instant", "clocks/system", "clocks/since"] {
        assert!(
            ticks("clocks/first") < ticks(name) && ticks(name) < ticks("clocks/last"),
            "{name}"
        );
    }
    assert!(ticks("clocks/before") < ticks("clocks/first"));
}

/// Neither the time nor the arguments of an event are evaluated while its category is off.
#[test]
fn nothing_is_evaluated_while_off() {
    let recording = Recording::with(|builder| builder.categories(["on"]));
    let mut evaluated = 0;
    let mut count = || {
        evaluated += 1;
        Timestamp::from_ticks(1)
    };
    trace_at!(count(), instant("off", "instant", "a" => count().ticks()));
    trace_at!(count()..count(), duration_complete("off", "complete"));
    trace_at!(count(), counter("off", "counter", count().ticks(), "a" => 1u32));
    trace_at!(count(), instant("on", "instant", "a" => count().ticks()));
    assert_eq!(evaluated, 2);
    assert_eq!(lines(&recording.end(), "off/").len(), 0);
}
