use proptest::prelude::*;
use trace_format::Reader;

use super::*;
use crate::schedule::moment::{self, ThreadAt};
use crate::schedule::threads::{self, Scheduling};
use crate::testing::archive;
use crate::Damage;

const THREADS: usize = 4;
const CPUS: usize = 2;

/// A record with its time, and the CPU in whose order it is written.
type Timed = (u64, usize, Record<'static>);

/// Returns the records of a scheduler that makes these choices. All times differ.
fn scheduled(choices: &[u8]) -> Vec<Timed> {
    let mut running = [0_u64; CPUS];
    let mut ready = [true; THREADS];
    let mut records = Vec::new();
    for (choice, ticks) in choices.iter().zip((10..).step_by(3)) {
        let (cpu, thread) = (usize::from(choice % 2), usize::from(choice / 2 % 4));
        let koid = thread as u64 + 1;
        let arguments = Arguments::NONE;
        if choice / 8 % 4 == 0 {
            ready[thread] = true;
            let wakeup = ThreadWakeup { ticks, cpu: cpu as u16, thread: koid, arguments };
            records.push((ticks, cpu, wakeup.into()));
            continue;
        }
        let can_run = ready[thread] && !running.contains(&koid) && choice / 8 % 4 == 1;
        let (outgoing_thread, incoming_thread) = (running[cpu], if can_run { koid } else { 0 });
        if outgoing_thread == incoming_thread {
            continue;
        }
        let outgoing_state = match choice / 32 % 2 {
            0 => ThreadState::RUNNING,
            _ => ThreadState::BLOCKED,
        };
        if let Some(outgoing) = outgoing_thread.checked_sub(1) {
            ready[outgoing as usize] = outgoing_state == ThreadState::RUNNING;
        }
        running[cpu] = incoming_thread;
        let cpu_number = cpu as u16;
        let switch = ContextSwitch {
            ticks,
            cpu: cpu_number,
            outgoing_state,
            outgoing_thread,
            incoming_thread,
            arguments,
        };
        records.push((ticks, cpu, switch.into()));
    }
    records
}

/// Returns an archive of the records, those of CPU 1 first if they are not in the order of time.
fn written(records: &[Timed], is_in_order: bool) -> Vec<u8> {
    let mut records = records.to_vec();
    if !is_in_order {
        records.sort_by_key(|(_, cpu, _)| std::cmp::Reverse(*cpu));
    }
    archive(&records.into_iter().map(|(.., record)| record).collect::<Vec<_>>())
}

/// The provider of [`archive`].
const PROVIDER: Option<u32> = Some(1);

/// Returns the part of an archive from a time on, with the states at that time.
fn sliced(bytes: &[u8], from: u64) -> Vec<u8> {
    let mut border = Border::new(from);
    let mut writer = trace_format::Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    Damage::of_all(Reader::new(bytes), |item| border.note(item)).unwrap();
    for known in border.by_provider().remove(&PROVIDER).unwrap_or_default() {
        known.with_record(from, from, |record| writer.record(record)).unwrap();
    }
    Damage::of_all(Reader::new(bytes), |item| {
        let ticks = match &item.record {
            Record::ContextSwitch(switch) => switch.ticks,
            Record::ThreadWakeup(wakeup) => wakeup.ticks,
            _ => return,
        };
        if ticks >= from {
            writer.record(&item.record).unwrap();
        }
    })
    .unwrap();
    writer.into_inner()
}

fn states(bytes: &[u8], nanos: u64) -> Vec<ThreadAt> {
    moment::read(Reader::new(bytes), nanos).unwrap().threads
}

fn sums(bytes: &[u8]) -> Scheduling {
    threads::read(Reader::new(bytes)).unwrap()
}

/// Returns the running, runnable and blocked nanoseconds of each thread from a time to another one.
fn counted(bytes: &[u8], from: u64, to: u64) -> Vec<(u64, [u64; 3])> {
    let mut sums = vec![(0, [0; 3]); THREADS];
    for nanos in from..to {
        for thread in states(bytes, nanos) {
            let koid = thread.group.koids.thread;
            let place = match thread.state {
                moment::State::Running(_) => 0,
                moment::State::Woken(_) | moment::State::Preempted(_) => 1,
                moment::State::Blocked => 2,
            };
            sums[koid as usize - 1].0 = koid;
            sums[koid as usize - 1].1[place] += 1;
        }
    }
    sums.retain(|(koid, _)| *koid != 0);
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A slice, and a slice of it, has the states of the whole archive, since the same times.
    #[test]
    fn a_slice_has_the_states_of_the_archive(
        choices in proptest::collection::vec(any::<u8>(), 1..60),
        cuts in (0_u64..180, 1_u64..60),
        is_in_order: bool,
    ) {
        let whole = written(&scheduled(&choices), is_in_order);
        let (first, second) = (10 + cuts.0, 10 + cuts.0 + cuts.1);
        let once = sliced(&whole, first);
        let twice = sliced(&once, second);
        let end = 10 + 3 * choices.len() as u64 + 5;
        for nanos in first..end.max(first) {
            prop_assert_eq!(states(&whole, nanos), states(&once, nanos), "at {}", nanos);
        }
        for nanos in second..end.max(second) {
            prop_assert_eq!(states(&whole, nanos), states(&twice, nanos), "at {}", nanos);
        }
    }

    /// The sums of a slice are the times within it, and no switch is missing.
    #[test]
    fn sums_of_a_slice_are_times_within_it(
        choices in proptest::collection::vec(any::<u8>(), 1..60),
        from in 10_u64..190,
    ) {
        let records = scheduled(&choices);
        let slice = sliced(&written(&records, true), from);
        let last = records.iter().map(|(nanos, ..)| *nanos).filter(|nanos| *nanos >= from).max();
        let end = last.unwrap_or(from);
        let found = sums(&slice);
        prop_assert_eq!(found.missing, 0);
        let mut found: Vec<_> = found
            .threads
            .iter()
            .map(|times| (times.group.koids.thread, [times.running, times.runnable, times.blocked]))
            .filter(|(_, sums)| *sums != [0; 3])
            .collect();
        found.sort_unstable();
        prop_assert_eq!(found, counted(&slice, from, end));
    }
}

/// Thread 7 runs, 8 lost its CPU to 7, 9 is blocked, and 10 was woken up by 7.
#[test]
fn records_of_states() {
    let switch = |ticks, outgoing_thread, outgoing_state, incoming_thread| -> Record<'static> {
        let (cpu, arguments) = (3, Arguments::NONE);
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
            .into()
    };
    let waker = [Argument::new("waker", Value::Koid(7))];
    let bytes = archive(&[
        switch(10, 0, ThreadState::RUNNING, 9),
        switch(20, 9, ThreadState::BLOCKED, 8),
        switch(30, 8, ThreadState::RUNNING, 7),
        ThreadWakeup { ticks: 40, cpu: 1, thread: 10, arguments: (&waker).into() }.into(),
        switch(60, 7, ThreadState::BLOCKED, 0),
    ]);
    let mut border = Border::new(50);
    Damage::of_all(Reader::new(&*bytes), |item| border.note(item)).unwrap();
    let known: Vec<_> = border
        .by_provider()
        .remove(&PROVIDER)
        .unwrap()
        .into_iter()
        .map(|known| (known.thread, known.cpu.1, known.since, known.state))
        .collect();
    let left = |state, by| KnownState::Left { state, by, was_woken: false };
    let expected = [
        (8, 3, 30, left(ThreadState::RUNNING, Some(7))),
        (9, 3, 20, left(ThreadState::BLOCKED, None)),
        (7, 3, 30, KnownState::Running),
        (10, 1, 40, KnownState::Woken(Some(Waker::Thread(7)))),
    ];
    assert_eq!(known, expected);
    assert_eq!(border.by_provider().len(), 1);
}
