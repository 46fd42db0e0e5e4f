//! Recordings from the side events of real programs, and from the packets of the step engine in
//! place of those of a processor.

use std::collections::BTreeMap;
use std::env::temp_dir;
use std::process::{Command, Stdio};
use std::time::Duration;

use trace_insntrace::flow::Item;
use trace_insntrace::hardware::{AuxArea, Losses, Recorder};
use trace_insntrace::perf_data::Imported;
use trace_insntrace::pt::{self, Timing};
use trace_insntrace::recording::{Clock, Note, Recording, TraceDecoder, Writer};
use trace_insntrace::step::{Engine, Options, Tracer};
use trace_kernel::perf_data::AuxQueue;
use trace_kernel::perf_event::SideEvents;
use trace_protocol::clock;

use crate::replayed::Replayed;
use crate::side::{of_this_thread, of_thread};
use crate::stepped::{options, Stepped};

const CLOCK: Clock = Clock { now: || 0, ticks_per_second: 1_000_000_000 };

/// Executes a script in blocks, and records its side events. Returns `None` where the kernel
/// permits none.
fn run(script: &str) -> Option<(Stepped, SideEvents)> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdout(Stdio::null());
    // By blocks, it takes a fifth of the time.
    let engine = Engine::Block;
    let options = Options { engine, clock: clock::ticks, ..options(pt::Writer::new()) };
    let mut tracer = Tracer::start(&mut command, options).unwrap();
    let pid = tracer.child_mut().unwrap().id();
    let mut side = of_thread(pid.into())?;
    side.start().unwrap();
    let mut stepped = Stepped::default();
    while let Some(executed) = tracer.step().unwrap() {
        stepped.executed.push(executed);
        if stepped.executed.len() % 1000 == 0 {
            stepped.drain(&mut tracer);
            side.read().unwrap();
        }
    }
    stepped.drain(&mut tracer);
    side.read().unwrap();
    Some((stepped, side))
}

/// Returns the thread of each trace.
fn threads(stepped: &Stepped) -> BTreeMap<u32, u32> {
    let thread = |note: &Note| match note {
        Note::Thread { trace, tid, .. } => Some((trace.0, *tid)),
        _ => None,
    };
    stepped.notes.iter().filter_map(thread).collect()
}

/// Returns the executed addresses of each thread of a recording.
fn decoded(recording: &Recording) -> BTreeMap<u32, Vec<u64>> {
    let mut found = BTreeMap::new();
    for trace in recording.traces() {
        let packets = recording.packets(trace.id).unwrap();
        let mut decoder = TraceDecoder::new(recording.notes(), trace.id, packets);
        let ips: &mut Vec<u64> = found.entry(trace.tid).or_default();
        while let Some(item) = decoder.next_item().unwrap() {
            if let Item::Instruction(instruction) = item.unwrap() {
                ips.push(instruction.ip);
            }
        }
    }
    found
}

/// The code, the processes and the names come from the kernel's records only.
#[test]
fn a_recording_has_the_instructions_that_were_executed() {
    let script = "i=0; while [ $i -lt 9 ]; do i=$((i + 1)); done; (exit 3); /bin/true; echo $i";
    let Some((stepped, side)) = run(script) else { return };
    let threads = threads(&stepped);
    assert_eq!(threads.len(), 3, "the shell, a subshell, and a program");
    let area = |(trace, packets): (_, &Vec<u8>)| {
        let trace: &trace_insntrace::recording::TraceId = trace;
        let queue = AuxQueue { index: trace.0, thread: Some(threads[&trace.0]), cpu: None };
        (queue, Replayed::new(packets.clone(), false).unwrap().with_space())
    };
    let areas = stepped.packets.iter().map(area).collect();
    let mut recorder = Recorder::new(side, areas, Timing::default(), false, &temp_dir()).unwrap();
    recorder.resume().unwrap();
    recorder.take(Duration::ZERO).unwrap();
    recorder.stop().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), CLOCK, "").unwrap();
    let imported = recorder.write(&mut writer).unwrap();
    assert_eq!(imported, Imported::default());
    assert_eq!(recorder.losses().unwrap(), Losses::default());

    let recording = Recording::open(folder.path()).unwrap();
    let found = decoded(&recording);
    let executed =
        stepped.packets.keys().map(|trace| (threads[&trace.0], stepped.executed_by(*trace)));
    let executed: BTreeMap<_, _> = executed.collect();
    assert!(executed.values().map(Vec::len).sum::<usize>() > 10_000);
    for (thread, executed) in &executed {
        let first = found[thread].iter().zip(executed).position(|(found, it)| found != it);
        assert_eq!((first, found[thread].len()), (None, executed.len()), "{thread}");
    }
    let names: Vec<_> = recording.traces().into_iter().map(|trace| trace.name).collect();
    assert!(names.contains(&"true".to_owned()) && names.contains(&"sh".to_owned()), "{names:?}");
}

/// Returns a recorder of an area that has these packets and records.
fn recorder(packets: usize, records: Vec<u8>) -> Option<Recorder<Replayed>> {
    let side = of_this_thread()?;
    let queue = AuxQueue { index: 0, thread: None, cpu: Some(0) };
    let mut area = Replayed::new(vec![1; packets], false).unwrap();
    area.records = records;
    Some(Recorder::new(side, vec![(queue, area)], Timing::default(), false, &temp_dir()).unwrap())
}

/// `PERF_RECORD_AUX` with the flag TRUNCATED.
fn truncated() -> Vec<u8> {
    [11_u64 | 32 << 48, 0, 100, 1].map(u64::to_ne_bytes).concat()
}

/// The kernel writes no record if there is no space, and may write one before it turns an event
/// off.
#[test]
fn an_area_is_turned_on_whenever_it_was_read() {
    let (size, starts) = (1 << 14, |it: &Recorder<Replayed>| it.area(0).unwrap().starts);
    for (packets, records, missing) in
        [(size - 1, Vec::new(), 1), (size - 1, truncated(), 1), (10_000, truncated(), 1)]
    {
        let Some(mut recorder) = recorder(packets, records) else { return };
        assert_eq!(recorder.area(0).unwrap().size(), size);
        recorder.begin().unwrap();
        recorder.resume().unwrap();
        assert_eq!(starts(&recorder), 1);
        recorder.take(Duration::ZERO).unwrap();
        assert_eq!((starts(&recorder), recorder.losses().unwrap().truncated), (2, missing));
        recorder.take(Duration::ZERO).unwrap();
        assert_eq!((starts(&recorder), recorder.losses().unwrap().truncated), (3, missing));
    }
}

#[test]
fn an_area_stays_off_after_the_stop() {
    let Some(mut recorder) = recorder(100, truncated()) else { return };
    recorder.begin().unwrap();
    recorder.resume().unwrap();
    recorder.stop().unwrap();
    let area = recorder.area(0).unwrap();
    assert_eq!((area.starts, area.is_on, area.tail), (1, false, 100));
    recorder.take(Duration::ZERO).unwrap();
    assert!(!recorder.area(0).unwrap().is_on);
    recorder.resume().unwrap();
    assert!(recorder.area(0).unwrap().is_on);
}

#[test]
fn the_newest_packets_are_written_again_and_again() {
    let Some((stepped, side)) = run("exit 0") else { return };
    let (thread, executed) = (threads(&stepped)[&0], stepped.executed_by(crate::stepped::FIRST));
    let queue = AuxQueue { index: 0, thread: Some(thread), cpu: None };
    let area = Replayed::new(stepped.packets[&crate::stepped::FIRST].clone(), true).unwrap();
    let mut recorder =
        Recorder::new(side, vec![(queue, area)], Timing::default(), true, &temp_dir()).unwrap();
    recorder.resume().unwrap();
    for _ in 0..2 {
        recorder.take(Duration::ZERO).unwrap();
        recorder.stop().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), CLOCK, "").unwrap();
        recorder.write(&mut writer).unwrap();
        let found = decoded(&Recording::open(folder.path()).unwrap());
        assert!(found[&thread] == executed);
        recorder.resume().unwrap();
    }
}

/// The events of threads that have ended are hung up, and the others have packets still.
#[test]
fn an_area_is_read_until_the_last_thread_of_its_events_has_ended() {
    let Some(side) = of_this_thread() else { return };
    let queue = AuxQueue { index: 0, thread: None, cpu: Some(0) };
    let mut area = Replayed::new(vec![1; 100], false).unwrap();
    let (hung_up, writer) = rustix::pipe::pipe().unwrap();
    drop(writer);
    area.files.insert(0, hung_up);
    let areas = vec![(queue, area)];
    let mut recorder = Recorder::new(side, areas, Timing::default(), false, &temp_dir()).unwrap();
    recorder.begin().unwrap();
    recorder.resume().unwrap();
    // Otherwise the second one waits.
    for _ in 0..2 {
        recorder.take(Duration::from_secs(60)).unwrap();
    }
    assert_eq!(recorder.area(0).unwrap().tail, 100);
}
