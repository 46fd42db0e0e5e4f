use proptest::prelude::*;
use trace_format::layout::ObjectType;
use trace_format::{
    Argument, Arguments, Backtrace, Event, EventKind, KernelObject, Log, Mmap, Module, Process,
    Text, Thread, ThreadKoids, Value,
};

use super::*;
use crate::{rewrite, text};
use trace_analyze::check::{self, Verdict};
use EventKind::*;

mod reports;
mod states;

const MAIN: ThreadKoids = ThreadKoids::new(1, 2);
const OTHER_OF_MAIN: ThreadKoids = ThreadKoids::new(1, 3);
const OTHER: ThreadKoids = ThreadKoids::new(5, 6);

fn event<'a>(koids: ThreadKoids, ticks: u64, name: &'a str, kind: EventKind) -> Record<'a> {
    let thread = Thread::Inline(koids);
    let (category, name) = (Text::from("cat"), Text::from(name));
    Event { ticks, thread, category, name, kind, arguments: Arguments::NONE }.into()
}

/// Returns an archive that the tests slice from 100 to 200.
fn archive() -> Vec<u8> {
    let process = KernelObject {
        object_type: ObjectType::PROCESS,
        koid: 1,
        name: "app".into(),
        arguments: Arguments::NONE,
    };
    let number = [Argument::new("number", Value::Uint64(3))];
    let lost = |ticks| {
        Record::Event(Event {
            ticks,
            thread: Thread::Inline(OTHER),
            category: "trace".into(),
            name: "records dropped".into(),
            kind: Instant { scope: None },
            arguments: (&number).into(),
        })
    };
    let log = |ticks| Record::Log(Log { ticks, thread: Thread::Inline(MAIN), message: b"hello" });
    crate::testing::archive(&[
        process.into(),
        event(MAIN, 10, "outer", DurationBegin),
        event(MAIN, 20, "before", DurationBegin),
        event(MAIN, 30, "before", DurationEnd),
        event(MAIN, 40, "reaches in", DurationComplete { end: 110 }),
        event(MAIN, 50, "op", AsyncBegin { id: 1 }),
        event(MAIN, 60, "op", AsyncBegin { id: 2 }),
        event(MAIN, 70, "op", AsyncEnd { id: 2 }),
        log(80),
        lost(90),
        event(OTHER, 95, "open", DurationBegin),
        event(MAIN, 120, "inside", DurationComplete { end: 130 }),
        event(OTHER, 140, "other", Counter { id: 1 }),
        lost(150),
        log(160),
        event(MAIN, 190, "reaches out", DurationBegin),
        event(MAIN, 210, "behind", DurationComplete { end: 220 }),
        event(MAIN, 230, "reaches out", DurationEnd),
        event(MAIN, 240, "op", AsyncEnd { id: 1 }),
        event(MAIN, 250, "outer", DurationEnd),
        event(MAIN, 260, "behind", Instant { scope: None }),
    ])
}

/// Returns the lines of a slice's records with a time.
fn cut(selection: &Selection<'_>) -> Vec<String> {
    let mut output = Vec::new();
    let plan = Plan::read(Reader::new(&*archive()), selection).unwrap();
    let summary = write(Reader::new(&*archive()), &plan, &mut output).unwrap();
    let report = check::check(Reader::new(&*output)).unwrap();
    assert_ne!(report.verdict(), Verdict::Malformed, "{report:?}");
    assert_eq!(report.ends_without_begin, 0);
    assert_eq!(summary.damage.records_dropped, 6);
    let mut lines = Vec::new();
    let mut reader = Reader::new(&*output);
    while let Some(item) = reader.next().unwrap() {
        let mut line = String::new();
        text::line(&mut line, &item).unwrap();
        if rewrite::ticks(&item.record).is_some() || line.contains("kernel-object") {
            let what: Vec<&str> = line.split_whitespace().skip(2).collect();
            lines.push(what.join(" ").replace("0.000000", ""));
        }
    }
    lines
}

#[test]
fn by_time() {
    let selection = Selection { from: 100, to: Some(200), ..Selection::default() };
    assert_eq!(
        cut(&selection),
        [
            "kernel-object process #1 \"app\"",
            "duration-begin 1/2 010s \"cat\" \"outer\"",
            "duration-complete 1/2 040s \"cat\" \"reaches in\" 70ns",
            "async-begin 1/2 050s \"cat\" \"op\" id 1 (0x1)",
            "duration-begin 5/6 095s \"cat\" \"open\"",
            "duration-complete 1/2 120s \"cat\" \"inside\" 10ns",
            "counter 5/6 140s \"cat\" \"other\" id 1 (0x1)",
            "instant 5/6 150s \"trace\" \"records dropped\" {\"number\": 3}",
            "log 1/2 160s \"hello\"",
            "duration-begin 1/2 190s \"cat\" \"reaches out\"",
            "duration-end 1/2 230s \"cat\" \"reaches out\"",
            "async-end 1/2 240s \"cat\" \"op\" id 1 (0x1)",
            "duration-end 1/2 250s \"cat\" \"outer\"",
        ]
    );
}

#[test]
fn samples_have_the_modules_from_before_the_range() {
    let (process, module_id, name, build_id) = (Process::Inline(1), 1, &b"app"[..], &[][..]);
    let module = |ticks| Module { ticks, process, module_id, name, build_id }.into();
    let (flags, start, length, module_address) = (5, 0x1000, 0x1000, 0);
    let mmap =
        |ticks| Mmap { ticks, process, module_id, flags, start, length, module_address }.into();
    let sample = |ticks| {
        let (thread, frames) = (Thread::Inline(MAIN), (&[0x1010_u64][..]).into());
        Record::from(Backtrace { ticks, thread, frames })
    };
    let records: [Record<'_>; 7] =
        [module(10), mmap(20), sample(50), sample(150), sample(250), module(300), mmap(310)];
    let archive = crate::testing::archive(&records);
    let selection = Selection { from: 100, to: Some(200), ..Selection::default() };
    let plan = Plan::read(Reader::new(&*archive), &selection).unwrap();
    let mut output = Vec::new();
    write(Reader::new(&*archive), &plan, &mut output).unwrap();
    let mut reader = Reader::new(&*output);
    let mut times = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::Module(_) | Record::Mmap(_) | Record::Backtrace(_) = item.record {
            times.extend(rewrite::ticks(&item.record));
        }
    }
    assert_eq!(times, [10, 20, 150]);
}

#[test]
fn by_process_and_name() {
    let selection = Selection { processes: Some(&[5]), ..Selection::default() };
    let lines = cut(&selection);
    assert_eq!(lines.iter().filter(|line| line.contains("\"cat\"")).count(), 2, "{lines:?}");
    let name = |_: &str, name: &str| name == "op" || name == "outer";
    let lines = cut(&Selection { name: Some(&name), ..Selection::default() });
    assert_eq!(lines.iter().filter(|line| line.contains("\"cat\"")).count(), 6, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("log")).count(), 0, "{lines:?}");
    let none = |_: &str| false;
    let lines = cut(&Selection { category: Some(&none), ..Selection::default() });
    let kept = ["kernel-object", "instant", "instant"];
    let kinds = lines.iter().map(|line| line.split(' ').next().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), kept);
}

#[test]
fn a_slice_of_everything() {
    let lines = cut(&Selection::default());
    assert_eq!(lines.len(), 21, "{lines:?}");
}

/// A duration, or an operation with this id, from its begin to its end.
#[derive(Debug, Clone, Copy)]
struct Whole {
    id: Option<u64>,
    begin: u64,
    end: u64,
}

/// Returns durations one after another, and operations that overlap.
fn wholes() -> impl Strategy<Value = Vec<Whole>> {
    let operation = |(id, (begin, length)): (usize, (u64, u64))| Whole {
        id: Some(id as u64),
        begin,
        end: begin + length,
    };
    let operations = prop::collection::vec((0_u64..1000, 0_u64..300), 0..20)
        .prop_map(move |list| list.into_iter().enumerate().map(operation).collect::<Vec<_>>());
    let durations = prop::collection::vec((1_u64..100, 1_u64..100), 0..20).prop_map(|list| {
        let mut now = 0;
        let duration = |(gap, length)| {
            now += gap + length;
            Whole { id: None, begin: now - length, end: now }
        };
        list.into_iter().map(duration).collect::<Vec<_>>()
    });
    (operations, durations).prop_map(|(operations, durations)| [operations, durations].concat())
}

proptest! {
    #[test]
    fn begins_and_ends_stay_together_in_any_order(
        wholes in wholes(),
        order in prop::collection::vec(any::<u32>(), 100),
        from in 0_u64..1000,
        length in 1_u64..1000,
    ) {
        let halves = |whole: &Whole| match whole.id {
            Some(id) => [
                event(MAIN, whole.begin, "op", AsyncBegin { id }),
                event(OTHER_OF_MAIN, whole.end, "op", AsyncEnd { id }),
            ],
            None => [
                event(MAIN, whole.begin, "scope", DurationBegin),
                event(MAIN, whole.end, "scope", DurationEnd),
            ],
        };
        let mut records: Vec<_> = wholes.iter().flat_map(halves).zip(order).collect();
        records.sort_by_key(|(_, place)| *place);
        let records: Vec<Record<'_>> = records.into_iter().map(|(record, _)| record).collect();
        let archive = crate::testing::archive(&records);
        let selection = Selection { from, to: Some(from + length), ..Selection::default() };
        let plan = Plan::read(Reader::new(&*archive), &selection).unwrap();
        let mut output = Vec::new();
        write(Reader::new(&*archive), &plan, &mut output).unwrap();

        let reaches_in = |whole: &&Whole| whole.begin < from + length && whole.end >= from;
        let mut expected: Vec<u64> =
            wholes.iter().filter(reaches_in).flat_map(|whole| [whole.begin, whole.end]).collect();
        let (mut kept, mut reader) = (Vec::new(), Reader::new(&*output));
        while let Some(item) = reader.next().unwrap() {
            kept.extend(rewrite::ticks(&item.record));
        }
        expected.sort_unstable();
        kept.sort_unstable();
        prop_assert_eq!(kept, expected);
    }
}

/// Returns the times of all events of a slice: begin and end.
fn times(archive: &[u8], selection: &Selection<'_>) -> Vec<(String, u64, u64)> {
    let mut output = Vec::new();
    let plan = Plan::read(Reader::new(archive), selection).unwrap();
    write(Reader::new(archive), &plan, &mut output).unwrap();
    let mut reader = Reader::new(&*output);
    let mut times = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = item.record else { continue };
        let end = match event.kind {
            DurationComplete { end } => end,
            _ => event.ticks,
        };
        times.push((item.text(event.name).into_owned(), event.ticks, end));
    }
    times
}

#[test]
fn durations_are_cut_at_the_borders() {
    let selection = Selection { from: 100, to: Some(200), clips: true, ..Selection::default() };
    let times = times(&archive(), &selection);
    assert!(times.iter().all(|(_, begin, end)| *begin >= 100 && *end <= 200), "{times:?}");
    let of = |name: &str| times.iter().filter(|time| time.0 == name).collect::<Vec<_>>();
    assert_eq!(of("reaches in"), [&("reaches in".to_owned(), 100, 110)]);
    let [begin, end] = of("reaches out")[..] else { panic!("{times:?}") };
    assert_eq!((begin.1, end.1), (190, 200));
    let [begin, end] = of("op")[..] else { panic!("{times:?}") };
    assert_eq!((begin.1, end.1), (100, 200));
}
