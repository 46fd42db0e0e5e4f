//! Conditions over the records of providers whose clock counts nanoseconds.

use trace_format::encode::append;
use trace_format::layout::InstantScope;
use trace_format::record::{Argument, Log};
use trace_format::{Event, EventKind, Text, Thread, ThreadKoids, Value};

use super::*;

mod durations;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// The evaluator of some triggers, with provider 1.
fn evaluator(triggers: &[&str]) -> Evaluator {
    let rules: Vec<TriggerRule> = triggers.iter().map(|text| text.parse().unwrap()).collect();
    let mut evaluator = Evaluator::new(&rules, SystemTime::UNIX_EPOCH);
    evaluator.open(1, SECOND, true);
    evaluator
}

fn thread(thread: u64) -> Thread {
    Thread::Inline(ThreadKoids::new(7, thread))
}

/// Returns an event without arguments of the category `web`.
fn event(on: Thread, ticks: u64, name: &'static str, kind: EventKind) -> Record<'static> {
    let (category, name, arguments) = ("web".into(), name.into(), (&[]).into());
    Record::Event(Event { ticks, thread: on, category, name, kind, arguments })
}

fn begin(on: u64, ticks: u64) -> Record<'static> {
    event(thread(on), ticks, "request", EventKind::DurationBegin)
}

fn end(on: u64, ticks: u64) -> Record<'static> {
    event(thread(on), ticks, "request", EventKind::DurationEnd)
}

fn async_begin(id: u64, ticks: u64) -> Record<'static> {
    event(thread(1), ticks, "request", EventKind::AsyncBegin { id })
}

fn async_end(id: u64, ticks: u64) -> Record<'static> {
    event(thread(2), ticks, "request", EventKind::AsyncEnd { id })
}

/// A value of the counter `app/queue` with the id 0.
fn value<'a>(ticks: u64, argument: &'a [Argument<'a>]) -> Record<'a> {
    counter(0, ticks, argument)
}

fn counter<'a>(id: u64, ticks: u64, argument: &'a [Argument<'a>]) -> Record<'a> {
    Record::Event(Event {
        ticks,
        thread: thread(1),
        category: "app".into(),
        name: "queue".into(),
        kind: EventKind::Counter { id },
        arguments: argument.into(),
    })
}

fn depth(value: f64) -> [Argument<'static>; 1] {
    [Argument::new("depth", Value::Double(value))]
}

/// The report of records that a thread dropped.
fn loss(on: u64, ticks: u64) -> Record<'static> {
    Record::Event(Event {
        ticks,
        thread: thread(on),
        category: "trace".into(),
        name: "records dropped".into(),
        kind: EventKind::Instant { scope: Some(InstantScope::Thread) },
        arguments: (&[]).into(),
    })
}

fn encode(records: &[Record<'_>]) -> Vec<u64> {
    let mut words = Vec::new();
    records.iter().for_each(|record| append(&mut words, record).unwrap());
    words
}

/// Collects records of provider 1. Returns how often each condition began to hold.
fn collect(evaluator: &mut Evaluator, records: &[Record<'_>]) -> Vec<(String, u64)> {
    evaluator.records(1, &encode(records));
    evaluator.take()
}

/// Collects records of provider 1. Returns whether any condition began to hold.
fn holds(evaluator: &mut Evaluator, records: &[Record<'_>]) -> bool {
    !collect(evaluator, records).is_empty()
}

/// The records of a save are in the order of threads, not of time.
#[test]
fn records_of_threads_are_evaluated_in_the_order_of_time() {
    let mut evaluator = evaluator(&["duration:web/request>50ms"]);
    assert!(holds(&mut evaluator, &[async_end(1, 60 * MS), async_begin(1, 0)]));
    assert!(!holds(&mut evaluator, &[async_end(1, 900 * MS)]), "it has ended");
}

#[test]
fn values_of_threads_are_evaluated_in_the_order_of_time() {
    let mut evaluator = evaluator(&["counter:app/queue.depth>10 for 2s"]);
    let (high, low) = (depth(11.0), depth(1.0));
    let second_thread = [value(SECOND, &low), value(3 * SECOND, &low)];
    let first_thread = [value(0, &high), value(2 * SECOND, &high)];
    let records = [first_thread, second_thread].concat();
    assert!(!holds(&mut evaluator, &records), "it was over the limit for 1 s, twice");
}

#[test]
fn the_memory_of_observations_is_limited() {
    let mut evaluator = evaluator(&["counter:app/queue>10", "counter:app/queue<5", LIMIT]);
    let high = depth(11.0);
    let values = (0..100_000).map(|ms| value(ms * MS, &high));
    let losses = (0..100_000).map(|ms| loss(1, ms * MS));
    evaluator.compare(1, &encode(&values.chain(losses).collect::<Vec<_>>()));
    assert!((1024..=1 << 17).contains(&evaluator.observations.capacity()));
    let scope = [begin(1, 300 * SECOND), end(1, 301 * SECOND)];
    assert_eq!(collect(&mut evaluator, &scope).len(), 2, "a counter and the scope");
    assert!(evaluator.observations.capacity() <= 1024);
    assert_eq!(evaluator.incomplete(false).len(), 3, "a loss concerns all conditions");
}

/// More observations than the limit, of two threads whose buffers have turns.
#[test]
fn the_order_of_time_is_kept_across_the_limit() {
    let mut evaluator = evaluator(&[LIMIT]);
    let chunks = (0..200).map(|chunk| chunk * 1000..(chunk + 1) * 1000);
    let records = chunks.flat_map(|ids: std::ops::Range<u64>| {
        let ends = ids.clone().map(|id| async_end(id, id * MS + 51 * MS));
        ends.chain(ids.map(|id| async_begin(id, id * MS))).collect::<Vec<_>>()
    });
    let held = collect(&mut evaluator, &records.collect::<Vec<_>>());
    assert_eq!(held, [(LIMIT.to_owned(), 200_000)]);
}

#[test]
fn a_scope_ends_on_its_thread() {
    let mut evaluator = evaluator(&["duration:web/request>50ms"]);
    let records = [begin(1, 0), begin(2, 30 * MS), end(2, 40 * MS)];
    assert!(!holds(&mut evaluator, &records) && !holds(&mut evaluator, &[end(2, 900 * MS)]));
    assert!(holds(&mut evaluator, &[end(1, 51 * MS)]), "the begin is of an earlier save");
}

#[test]
fn a_counter_keeps_its_value_while_all_its_records_are_known() {
    let mut evaluator = evaluator(&["counter:app/queue.depth>10 for 2s"]);
    assert!(!evaluator.waits_for(1));
    let (high, low) = (depth(11.0), depth(1.0));
    assert!(!holds(&mut evaluator, &[value(0, &high)]) && evaluator.waits_for(1));
    evaluator.advance(1, 2 * SECOND);
    assert!(evaluator.take().is_empty(), "a later record may not be visible yet");
    evaluator.advance(2, 3 * SECOND);
    assert!(evaluator.take().is_empty(), "of another provider");
    evaluator.advance(1, 2 * SECOND + MS);
    assert!(!evaluator.take().is_empty() && !evaluator.waits_for(1));
    let again = [value(3 * SECOND, &low), value(4 * SECOND, &high), value(5 * SECOND, &low)];
    assert!(!holds(&mut evaluator, &again));
    evaluator.advance(1, 9 * SECOND);
    assert!(evaluator.take().is_empty() && !evaluator.waits_for(1));
}

const LIMIT: &str = "duration:web/request>50ms";

#[test]
fn operations_without_an_end_do_not_end_the_evaluation() {
    let mut evaluator = evaluator(&[LIMIT]);
    let begins: Vec<_> = (0..5000).map(|id| async_begin(id, id)).collect();
    assert!(!holds(&mut evaluator, &begins));
    let next = [async_begin(9000, MS), async_end(9000, 900 * MS)];
    assert!(holds(&mut evaluator, &next));
    assert_eq!(evaluator.incomplete(false), [LIMIT], "the first ones may have lasted longer");
}

#[test]
fn an_inner_scope_does_not_end_an_outer_one() {
    let mut evaluator = evaluator(&[LIMIT]);
    let begins = (0..5000).map(|_| begin(1, 1000 * MS));
    assert!(!holds(&mut evaluator, &[vec![begin(1, 0)], begins.collect()].concat()));
    let ends: Vec<_> = (0..5000).map(|_| end(1, 1001 * MS)).collect();
    assert!(!holds(&mut evaluator, &ends), "each lasted for 1 ms");
    assert!(holds(&mut evaluator, &[end(1, 1002 * MS)]));
    assert_eq!(evaluator.incomplete(false), [LIMIT], "some inner scopes were ignored");
}

#[test]
fn open_scopes_are_limited_for_each_provider() {
    let mut evaluator = evaluator(&[LIMIT]);
    evaluator.open(2, SECOND, true);
    let begins: Vec<_> = (0..5000).map(|id| async_begin(id, 0)).collect();
    evaluator.records(2, &encode(&begins));
    assert!(holds(&mut evaluator, &[async_begin(1, 0), async_end(1, 51 * MS)]));
    evaluator.records(2, &encode(&begins));
    assert!(!holds(&mut evaluator, &[async_end(1, 51 * MS)]), "of another provider");
}

/// The begin of the scope that ends may be among the lost records.
#[test]
fn a_loss_ends_the_open_scopes_of_its_thread_and_the_operations() {
    let mut evaluator = evaluator(&[LIMIT]);
    let begins = [begin(1, 0), begin(2, 0), async_begin(1, 0)];
    assert!(!holds(&mut evaluator, &begins) && evaluator.incomplete(false).is_empty());
    assert!(!holds(&mut evaluator, &[loss(1, 10 * MS), end(1, 900 * MS), async_end(1, 900 * MS)]));
    assert!(holds(&mut evaluator, &[end(2, 900 * MS)]), "no record of its thread is lost");
    assert!(holds(&mut evaluator, &[begin(1, MS * 20), end(1, MS * 90)]), "a later scope");
    assert_eq!(evaluator.incomplete(false), [LIMIT]);
}

#[test]
fn a_condition_that_is_not_over_records_is_complete() {
    let mut evaluator = evaluator(&["drop", "every:1s"]);
    collect(&mut evaluator, &[loss(1, 10 * MS)]);
    assert!(evaluator.incomplete(true).is_empty());
}

#[test]
fn counters_beyond_the_limit_are_not_observed() {
    let mut evaluator = evaluator(&["counter:app/queue.depth>10", "counter:app/queue.depth<10"]);
    let high = depth(11.0);
    let values: Vec<_> = (0..=1024).map(|id| counter(id, 0, &high)).collect();
    assert_eq!(collect(&mut evaluator, &values), [("counter:app/queue.depth>10".to_owned(), 1024)]);
    assert_eq!(evaluator.incomplete(false), ["counter:app/queue.depth>10"]);
}

fn string(index: u16, text: &str) -> Record<'_> {
    Record::String { index, value: text.as_bytes() }
}

#[test]
fn series_are_distinguished_by_their_text() {
    let mut evaluator = evaluator(&["counter:app/queue>10"]);
    // The bytes of the index of the first series are those of the second one's name.
    let indexed = [Argument::new(Text::Indexed(0x6161), Value::Double(11.0))];
    let inline = [Argument::new("aa", Value::Double(11.0))];
    let same = [Argument::new("depth", Value::Double(12.0))];
    let records = [string(0x6161, "depth"), value(0, &indexed), value(1, &inline)];
    assert_eq!(collect(&mut evaluator, &records), [("counter:app/queue>10".to_owned(), 2)]);
    assert!(!holds(&mut evaluator, &[value(2, &same)]), "the same text without an index");
}

#[test]
fn an_index_that_is_registered_again_is_another_series() {
    let mut evaluator = evaluator(&["counter:app/queue>10"]);
    let high = [Argument::new(Text::Indexed(1), Value::Double(11.0))];
    let records = [string(1, "depth"), value(0, &high), string(1, "depth"), value(1, &high)];
    assert_eq!(collect(&mut evaluator, &records)[0].1, 1, "the same text");
    assert_eq!(collect(&mut evaluator, &[string(1, "size"), value(2, &high)])[0].1, 1);
}

#[test]
fn a_value_that_is_not_a_number_is_ignored() {
    let mut evaluator = evaluator(&["counter:app/queue.depth>10 for 2s"]);
    let (high, nan) = (depth(11.0), depth(f64::NAN));
    assert!(!holds(&mut evaluator, &[value(0, &high), value(SECOND, &nan)]));
    assert!(holds(&mut evaluator, &[value(2 * SECOND, &high)]));
}

#[test]
fn names_are_resolved_in_the_table_of_their_provider() {
    let mut evaluator = evaluator(&[LIMIT]);
    evaluator.open(2, SECOND, true);
    let names = [(1, "web"), (2, "request"), (3, "other")].map(|(index, text)| string(index, text));
    evaluator.records(1, &encode(&names));
    let scope = |name| {
        Record::Event(Event {
            ticks: 0,
            thread: thread(1),
            category: Text::Indexed(1),
            name: Text::Indexed(name),
            kind: EventKind::DurationComplete { end: 51 * MS },
            arguments: (&[]).into(),
        })
    };
    assert!(holds(&mut evaluator, &[scope(2)]) && !holds(&mut evaluator, &[scope(3)]));
    assert!(holds(&mut evaluator, &[string(3, "request"), scope(3)]), "registered again");
    assert!(!holds(&mut evaluator, &[string(2, "any"), scope(2)]), "replaced");
    evaluator.records(2, &encode(&[scope(3)]));
    assert!(evaluator.take().is_empty(), "another provider has another table");
}

#[test]
fn threads_are_resolved_in_the_table_of_their_provider() {
    let mut evaluator = evaluator(&[LIMIT]);
    let register = |thread| Record::Thread { index: 1, koids: ThreadKoids::new(7, thread) };
    let indexed = |ticks, kind| event(Thread::Indexed(1), ticks, "request", kind);
    let begins = [register(1), indexed(0, EventKind::DurationBegin), register(2)];
    assert!(!holds(&mut evaluator, &begins));
    assert!(!holds(&mut evaluator, &[indexed(900 * MS, EventKind::DurationEnd)]), "thread 2");
    assert!(holds(&mut evaluator, &[register(1), indexed(900 * MS, EventKind::DurationEnd)]));
}

#[test]
fn times_are_in_ticks_of_the_providers_clock() {
    let mut evaluator = evaluator(&[LIMIT]);
    evaluator.open(2, 1000, true);
    evaluator.records(2, &encode(&[async_begin(1, 0), async_end(1, 51)]));
    assert!(!evaluator.take().is_empty(), "51 ms");
    assert!(!holds(&mut evaluator, &[async_begin(1, 0), async_end(1, 51)]), "51 ns");
}

fn log(message: &'static str) -> Record<'static> {
    Record::Log(Log { ticks: 0, thread: thread(1), message: message.as_bytes() })
}

#[test]
fn a_message_of_the_level_or_a_more_severe_one_holds() {
    let mut evaluator = evaluator(&["log:warn", "log:error"]);
    let held = |evaluator: &mut Evaluator, record| {
        let held = collect(evaluator, &[record]).into_iter();
        held.map(|(cause, _)| cause).collect::<Vec<_>>()
    };
    assert_eq!(held(&mut evaluator, log("ERROR net: no route")), ["log:warn", "log:error"]);
    assert_eq!(held(&mut evaluator, log("WARN hot")), ["log:warn"]);
    assert!(held(&mut evaluator, log("INFO errors: 0")).is_empty());
    let level = [Argument::new(Text::Indexed(1), Value::String(Text::Indexed(2)))];
    let message = |kind| {
        let (category, name) = ("app".into(), "event".into());
        let arguments = (&level).into();
        Record::Event(Event { ticks: 0, thread: thread(1), category, name, kind, arguments })
    };
    evaluator.records(1, &encode(&[string(1, "level"), string(2, "ERROR")]));
    let instant = message(EventKind::Instant { scope: Some(InstantScope::Thread) });
    assert_eq!(held(&mut evaluator, instant), ["log:warn", "log:error"]);
    assert!(held(&mut evaluator, message(EventKind::DurationBegin)).is_empty(), "of a span");
}

#[test]
fn further_losses_hold_again() {
    let mut evaluator = evaluator(&["drop"]);
    assert!(evaluator.needs_losses() && !evaluator.needs_records());
    let mut tick = |lost| {
        evaluator.tick(Duration::ZERO, SystemTime::UNIX_EPOCH, lost);
        evaluator.take().len()
    };
    // A provider that has left and is not collected yet is missing in the sum.
    assert_eq!([0, 5, 5, 2, 5, 6].map(&mut tick), [0, 1, 0, 0, 0, 1]);
}

#[test]
fn schedules_hold_by_the_time_since_the_start() {
    let mut evaluator = evaluator(&["every:10s"]);
    let mut tick = |seconds| {
        let elapsed = Duration::from_secs(seconds);
        evaluator.tick(elapsed, SystemTime::UNIX_EPOCH + elapsed, 0);
        evaluator.take().len()
    };
    assert_eq!([9, 10, 11, 40].map(&mut tick), [0, 1, 0, 1]);
    assert!(!evaluator.needs_losses());
}

#[test]
fn conditions_that_others_evaluate_are_counted() {
    let mut evaluator = evaluator(&["death", "signal:USR1"]);
    evaluator.hold(&Condition::Death);
    evaluator.hold(&Condition::Death);
    evaluator.hold(&Condition::Drop);
    assert_eq!(evaluator.take(), [("death".to_owned(), 2)]);
    assert!(evaluator.take().is_empty());
}

#[test]
fn a_condition_of_several_triggers_is_counted_once() {
    let mut evaluator = evaluator(&["log:error", "log:error:stop"]);
    assert_eq!(collect(&mut evaluator, &[log("ERROR")]), [("log:error".to_owned(), 1)]);
}

#[test]
fn names_that_no_program_has_are_unknown() {
    let triggers =
        [LIMIT, "counter:app/queue.depth>1", "counter:app/queue.size>1", "drop", "log:error"];
    let mut evaluator = evaluator(&triggers);
    assert_eq!(evaluator.unknown(), triggers[..3]);
    evaluator.records(1, &encode(&[string(1, "web")]));
    assert_eq!(evaluator.unknown(), triggers[..3], "the name is missing");
    evaluator.records(1, &encode(&[string(2, "request")]));
    assert_eq!(evaluator.unknown(), triggers[1..3]);
    // A counter's name may have a point.
    evaluator.records(1, &encode(&[string(3, "app"), string(4, "queue.size")]));
    assert_eq!(evaluator.unknown(), triggers[1..2]);
    collect(&mut evaluator, &[value(0, &depth(1.0))]);
    assert!(evaluator.unknown().is_empty(), "strings in the record");
}

#[test]
fn the_state_of_a_provider_ends_with_it() {
    let mut evaluator = evaluator(&[LIMIT, "counter:app/queue.depth>10 for 2s"]);
    let high = depth(11.0);
    assert!(!holds(&mut evaluator, &[async_begin(1, 0), value(0, &high)]));
    evaluator.close(1);
    assert!(!evaluator.waits_for(1));
    evaluator.open(1, SECOND, true);
    assert!(!holds(&mut evaluator, &[async_end(1, 900 * MS), value(3 * SECOND, &high)]));
}

/// Prints the time of an event with several numbers of conditions:
/// `cargo test --release -p trace-manager --lib measure_conditions -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn measure_conditions() {
    let event = |number: u64| {
        event(thread(1), number, "other", EventKind::DurationComplete { end: number + 1 })
    };
    let records: Vec<Record<'_>> = (0..100_000).map(event).collect();
    let words = encode(&records);
    for count in [1, 10, 100] {
        let triggers: Vec<String> =
            (0..count).map(|number| format!("duration:web/name {number}>1s")).collect();
        let triggers: Vec<&str> = triggers.iter().map(String::as_str).collect();
        let mut evaluator = evaluator(&triggers);
        let times = (0..20).map(|_| {
            let start = std::time::Instant::now();
            evaluator.records(1, &words);
            start.elapsed()
        });
        let least = times.min().unwrap_or_default();
        println!("{count} conditions: {:.1} ns an event", least.as_nanos() as f64 / 100_000.0);
    }
}
