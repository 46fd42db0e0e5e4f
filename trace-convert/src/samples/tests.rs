use trace_analyze::stats::Grouping;
use trace_format::layout::InstantScope;
use trace_format::{
    Argument, Arguments, Event, EventKind, Mmap, Module, Process, Thread, UserspaceObject, Value,
};

use super::*;

const PROCESS: Process = Process::Inline(7);

fn thread(id: u64) -> Thread {
    Thread::Inline(ThreadKoids::new(7, id))
}

fn backtrace(ticks: u64, id: u64, frames: &[u64]) -> Record<'_> {
    Backtrace { ticks, thread: thread(id), frames: frames.into() }.into()
}

fn scope(ticks: u64, end: u64, name: &str) -> Record<'_> {
    let (category, name) = ("app".into(), name.into());
    let kind = EventKind::DurationComplete { end };
    Event { ticks, thread: thread(8), category, name, kind, arguments: Arguments::NONE }.into()
}

/// Returns an archive whose process has the code of no file on this machine.
fn archive() -> Vec<u8> {
    let (module_id, name, build_id) = (3, &b"/no/such/library.so"[..], &[1, 2][..]);
    let module = Module { ticks: 1, process: PROCESS, module_id, name, build_id };
    let (flags, start, length, module_address) = (5, 0x1000, 0x1000, 0x40);
    let mmap = Mmap { ticks: 1, process: PROCESS, module_id, flags, start, length, module_address };
    let (pointer, name, arguments) = (0x9000, "named".into(), Arguments::NONE);
    let object = UserspaceObject { pointer, process: PROCESS, name, arguments };
    let records: [Record<'_>; 9] = [
        module.into(),
        mmap.into(),
        object.into(),
        backtrace(10, 8, &[0x1010, 0x1020, 0x9000]),
        backtrace(20, 8, &[0x1010, 0x1020, 0x9000]),
        backtrace(30, 8, &[0x5000]),
        backtrace(20, 9, &[]),
        // Events follow the samples in them.
        scope(15, 25, "request"),
        scope(28, 31, "other;"),
    ];
    crate::testing::archive(&records)
}

fn folded(select: Option<SelectScope<'_>>, grouping: Grouping) -> Vec<(String, u64)> {
    let mut samples = Samples::read(Reader::new(&*archive()), select).unwrap();
    let folded: Vec<_> = samples.folded(grouping).into_iter().collect();
    assert_eq!(folded.iter().map(|(_, number)| number).sum::<u64>(), samples.number());
    if folded.iter().any(|(stack, _)| stack.contains("library.so")) {
        let missing = trace_symbols::ModuleError::Missing;
        let library = std::path::Path::new("/no/such/library.so");
        assert_eq!(samples.symbols.unusable(), [(library, missing)]);
    }
    folded
}

/// Without frame pointers, stacks end early, often with a frame of address 0.
#[test]
fn frames_of_address_0_are_left_out() {
    let stacks = |frames: &[&[u64]]| {
        let records: Vec<_> = frames.iter().map(|frames| backtrace(10, 8, frames)).collect();
        let archive = crate::testing::archive(&records);
        let mut samples = Samples::read(Reader::new(&*archive), None).unwrap();
        let folded = samples.folded(Grouping::Together);
        (folded.into_keys().collect::<Vec<_>>(), samples.lack_callers())
    };
    let (names, lack_callers) = stacks(&[&[0x10, 0x20, 0], &[0], &[0x10, 0, 0x20]]);
    assert_eq!((names.join(" "), lack_callers), ("0x1f;0x10 [unknown]".to_owned(), true));
    let whole = &[0x10, 0x20, 0x30][..];
    assert!(!stacks(&[whole, whole, &[0x10]]).1);
    assert!(!stacks(&[]).1);
}

#[test]
fn a_weight_is_that_of_the_next_sample_at_its_time() {
    let weigh = |ticks, id, weight| {
        let list = Box::leak(Box::new([Argument::new("weight", Value::Uint64(weight))]));
        let kind = EventKind::Instant { scope: Some(InstantScope::Thread) };
        let (category, name) = ("trace".into(), "sample weight".into());
        let arguments = (&list[..]).into();
        Event { ticks, thread: thread(id), category, name, kind, arguments }.into()
    };
    let records: [Record<'_>; 9] = [
        weigh(10, 8, 500),
        weigh(10, 9, 30),
        backtrace(10, 9, &[0x90]),
        backtrace(10, 8, &[0x80]),
        backtrace(10, 8, &[0x80]),
        weigh(20, 8, 70),
        backtrace(21, 8, &[0x81]),
        weigh(30, 8, u64::MAX),
        backtrace(30, 8, &[0x80]),
    ];
    let samples = |records: &[Record<'_>]| {
        let archive = crate::testing::archive(records);
        let mut samples = Samples::read(Reader::new(&*archive), None).unwrap();
        let folded: Vec<_> = samples.folded(Grouping::Together).into_iter().collect();
        (samples.number(), samples.are_weighted(), folded)
    };
    let expected =
        |first| [("0x80", first), ("0x81", 1), ("0x90", 30)].map(|(s, n)| (s.to_owned(), n));
    assert_eq!(samples(&records[..7]), (4, true, expected(501).to_vec()));
    assert_eq!(samples(&records), (5, true, expected(u64::MAX).to_vec()));
    assert!(!samples(&records[4..5]).1);
}

#[test]
fn stacks_begin_with_the_outermost_frame_and_calls_precede_their_return_addresses() {
    let stack = "named;library.so+0x5f;library.so+0x50".to_owned();
    let expected = [("0x5000".to_owned(), 1), ("[unknown]".to_owned(), 1), (stack, 2)];
    assert_eq!(folded(None, Grouping::Together), expected);
    let threads = folded(None, Grouping::Thread);
    assert!(threads.contains(&("7;9;[unknown]".to_owned(), 1)), "{threads:?}");
}

#[test]
fn samples_within_selected_durations_of_their_thread() {
    let request = |_: &str, name: &str, _| name == "request";
    let stack = "named;library.so+0x5f;library.so+0x50".to_owned();
    assert_eq!(folded(Some(&request), Grouping::Together), [(stack.clone(), 1)]);
    let other = |category: &str, name: &str, _| category == "app" && name != "request";
    assert_eq!(folded(Some(&other), Grouping::Together), [("0x5000".to_owned(), 1)]);
    assert_eq!(folded(Some(&|_, _, _| false), Grouping::Together), []);
    // The request lasts for 10 ns, the other one for 3 ns.
    assert_eq!(folded(Some(&|_, _, nanos| nanos > 3), Grouping::Together), [(stack, 1)]);
}
