//! The scheduling records of an archive.

use std::collections::BTreeMap;

use trace_format::layout::ThreadState;
use trace_format::{Reader, Record, Value};

/// A context switch or a wake-up of a thread, as its thread sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The thread gets a CPU from another one.
    In { cpu: u16, from: u64 },
    /// The thread gives its CPU to another one.
    Out { cpu: u16, to: u64, state: ThreadState },
    /// It is woken up for a CPU, by another thread, or by an interrupt of another thread or 0.
    Woken { cpu: u16, by: u64 },
}

/// The steps of each thread with their times.
pub(crate) type Steps = BTreeMap<u64, Vec<(u64, Step)>>;

/// Reads the steps of all threads of an archive in the order of time.
pub(crate) fn steps(archive: &[u8]) -> Steps {
    let mut reader = Reader::new(archive);
    let mut steps = Steps::new();
    while let Some(item) = reader.next().expect("the archive is well-formed") {
        match &item.record {
            Record::ContextSwitch(it) => {
                let (from, to, state) = (it.outgoing_thread, it.incoming_thread, it.outgoing_state);
                add_switch(&mut steps, it.ticks, it.cpu, (from, state, to));
            }
            Record::ThreadWakeup(it) => {
                let is_waker = |name: &str| ["waker", "interrupted"].contains(&name);
                let waker = it.arguments.iter().find(|it| is_waker(&item.text(it.name)));
                let by = match waker.map(|waker| waker.value) {
                    Some(Value::Koid(koid)) => koid,
                    _ => 0,
                };
                let woken = Step::Woken { cpu: it.cpu, by };
                steps.entry(it.thread).or_default().push((it.ticks, woken));
            }
            _ => {}
        }
    }
    steps.values_mut().for_each(|steps| steps.sort_by_key(|(ticks, _)| *ticks));
    steps
}

/// Returns the interrupts that woke up threads, by the thread and the time.
pub(crate) fn interrupts(archive: &[u8]) -> BTreeMap<(u64, u64), String> {
    let mut reader = Reader::new(archive);
    let mut interrupts = BTreeMap::new();
    while let Some(item) = reader.next().expect("the archive is well-formed") {
        let Record::ThreadWakeup(it) = &item.record else { continue };
        let kind = it.arguments.iter().find(|it| item.text(it.name) == "interrupt");
        if let Some(Value::String(kind)) = kind.map(|kind| kind.value) {
            interrupts.insert((it.thread, it.ticks), item.text(kind).into_owned());
        }
    }
    interrupts
}

/// Adds a switch to both threads.
pub(crate) fn add_switch(
    steps: &mut Steps,
    time: u64,
    cpu: u16,
    (from, state, to): (u64, ThreadState, u64),
) {
    steps.entry(from).or_default().push((time, Step::Out { cpu, to, state }));
    steps.entry(to).or_default().push((time, Step::In { cpu, from }));
}

/// Returns how often a thread that runs at the start and at the end gave its CPU away, by waiting
/// and otherwise, and how often it got one.
pub(crate) fn counts(steps: impl Iterator<Item = Step>) -> [u64; 3] {
    let ([mut voluntary, mut involuntary, mut arrivals], mut runs) = ([0; 3], true);
    for step in steps {
        match step {
            Step::In { .. } => {
                arrivals += 1;
                runs = true;
            }
            Step::Out { state, .. } => {
                let is_voluntary = state != ThreadState::RUNNING;
                *(if is_voluntary { &mut voluntary } else { &mut involuntary }) += 1;
                // The switch to it is missing; see `cpus`.
                arrivals += u64::from(!runs);
                runs = false;
            }
            Step::Woken { .. } => {}
        }
    }
    [voluntary, involuntary, arrivals + u64::from(!runs)]
}
