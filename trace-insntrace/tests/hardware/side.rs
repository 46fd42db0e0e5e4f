//! The side events of programs: those that the kernel itself reports elsewhere.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;

use rustix::process::{sched_getcpu, sched_setaffinity, CpuSet};
use trace_insntrace::symbols;
use trace_kernel::perf_data::AuxEvent;
use trace_kernel::perf_event::{SideEvents, Target};
use trace_protocol::clock;

use crate::required::lacks;

/// Opens the side events of a thread and all that it creates, or returns `None` where the kernel
/// does not permit it.
pub(crate) fn of_thread(thread: u64) -> Option<SideEvents> {
    let opened = SideEvents::open(&[Target::Thread(thread)], clock::ticks);
    opened.inspect_err(|error| lacks(&format!("events of the kernel: {error}"))).ok()
}

/// Opens the side events of this thread and all that it creates.
pub(crate) fn of_this_thread() -> Option<SideEvents> {
    of_thread(rustix::thread::gettid().as_raw_nonzero().get() as u64)
}

/// Address, size, offset and path of code.
type Place = (u64, u64, u64, String);

/// Returns the mapped code of a process by its maps.
fn maps(process: u32) -> BTreeSet<Place> {
    let text = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let place = |line: &str| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let (start, end) = fields[0].split_once('-').unwrap();
        let path = fields.get(5).copied().unwrap_or_default().to_owned();
        // This one is the kernel's, at the same place in all processes.
        let is_code = fields[1].contains('x') && path != "[vsyscall]";
        is_code.then(|| (hex(start), hex(end) - hex(start), hex(fields[2]), path))
    };
    text.lines().filter_map(place).collect()
}

#[test]
fn the_mappings_are_those_of_the_process() {
    let Some(mut side) = of_this_thread() else { return };
    side.start().unwrap();
    let begin = clock::ticks();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "echo x; read line; exit 5"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let expected = maps(pid);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(5));
    side.stop().unwrap();
    side.read().unwrap();
    let end = clock::ticks();
    assert_eq!(side.lost().unwrap(), 0);

    let events = side.events();
    assert!(events.windows(2).all(|pair| pair[0].0 <= pair[1].0), "in the order of time");
    let own: Vec<_> = events.iter().filter(|(_, event)| is_of(event, pid)).collect();
    assert!(own.iter().all(|(time, _)| (begin..=end).contains(time)), "{begin} {end} {own:?}");
    let exec = own.iter().position(
        |(_, event)| matches!(event, AuxEvent::Named { is_exec: true, name, .. } if name == "sh"),
    );
    let mapped = own[exec.unwrap()..].iter().filter_map(|(_, event)| place(event));
    assert_eq!(mapped.collect::<BTreeSet<_>>(), expected);
    assert!(expected.iter().any(|(.., path)| path == "[vdso]"));

    let is_switch = |event: &AuxEvent| matches!(event, AuxEvent::Entered { .. });
    assert!(own.iter().any(|(_, event)| is_switch(event)), "it got a CPU");
    let this = std::process::id();
    let is_fork = |event: &AuxEvent| match event {
        AuxEvent::Forked { process, creator, .. } => (*process, *creator) == (pid, this),
        _ => false,
    };
    assert!(events.iter().any(|(_, event)| is_fork(event)));
}

/// Lets two threads of one CPU wait for each other, so often that their switches do not fit into
/// the buffer of the CPU.
fn switch_often() {
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut only = CpuSet::new();
            only.set(sched_getcpu());
            sched_setaffinity(None, &only).unwrap();
            let (one, other) = (sync_channel(0), sync_channel(0));
            scope.spawn(move || one.1.iter().try_for_each(|()| other.0.send(())));
            for _ in 0..30_000 {
                one.0.send(()).unwrap();
                other.1.recv().unwrap();
            }
        });
    });
}

/// The kernel reports losses by a record only if there is space again.
#[test]
fn records_that_do_not_fit_are_counted_without_a_later_record() {
    let Some(mut side) = of_this_thread() else { return };
    side.start().unwrap();
    switch_often();
    side.stop().unwrap();
    side.read().unwrap();
    // Kernels before 6.0 do not count them.
    let counts = kernel() >= (6, 0);
    assert!(side.lost().unwrap() > 0 || !counts, "{}", side.events().len());
}

/// Returns the first two numbers of the kernel's version.
fn kernel() -> (u32, u32) {
    let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    (numbers.next().unwrap().unwrap(), numbers.next().unwrap().unwrap())
}

#[test]
fn build_ids_are_those_of_the_files() {
    let Some(mut side) = of_this_thread() else { return };
    side.start().unwrap();
    assert!(Command::new("/bin/true").status().unwrap().success());
    side.stop().unwrap();
    side.read().unwrap();
    let (mut same, events) = (0, side.events());
    for (time, event) in events {
        let AuxEvent::Mapped { path, build_id, .. } = event else { continue };
        // Those that existed before have none, and kernels before 5.12 report none.
        if time != 0 && !build_id.is_empty() && path.starts_with('/') {
            assert_eq!(symbols::build_id(&path), Some(build_id), "{path}");
            same += 1;
        }
    }
    // The program has one, and the kernel has just read its first page.
    let is_reported = kernel() >= (5, 12) && symbols::build_id("/bin/true").is_some();
    assert!(same > 0 || !is_reported);
}

#[test]
fn what_exists_is_there_at_the_time_0() {
    let Some(mut side) = of_this_thread() else { return };
    side.start().unwrap();
    let expected = maps(std::process::id());
    let existing = side.events().into_iter().take_while(|(time, _)| *time == 0);
    let existing: Vec<_> = existing.map(|(_, event)| event).collect();
    let mapped: BTreeSet<_> = existing.iter().filter_map(place).collect();
    // Other tests of this process may map more.
    assert!(mapped.iter().filter(|place| expected.contains(place)).count() > 2);
    assert!(!mapped.iter().any(|(.., path)| path == "[vsyscall]"));
    let program = std::env::current_exe().unwrap();
    assert!(mapped.iter().any(|(.., path)| *path == program.to_string_lossy()));
    let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let is_own = |it: &AuxEvent| matches!(it, AuxEvent::Named { thread, .. } if *thread == own);
    assert!(existing.iter().any(is_own));
}

fn is_of(event: &AuxEvent, pid: u32) -> bool {
    match event {
        AuxEvent::Named { process, .. }
        | AuxEvent::Mapped { process, .. }
        | AuxEvent::Entered { process, .. } => *process == pid,
        _ => false,
    }
}

fn place(event: &AuxEvent) -> Option<Place> {
    match event {
        AuxEvent::Mapped { address, size, offset, path, .. } => {
            Some((*address, *size, *offset, path.clone()))
        }
        _ => None,
    }
}
