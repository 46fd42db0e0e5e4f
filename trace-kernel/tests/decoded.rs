//! Events as values, against the text of the kernel.

#[path = "common/captured.rs"]
mod capture;

use std::collections::{BTreeMap, BTreeSet};

use capture::{Capture, Line};
use trace_format::layout::ThreadState;
use trace_kernel::format::EventFormat;
use trace_kernel::page::RawEvent;
use trace_kernel::{thread_state, ByteOrder, Context, Decoder, Event, Task};

/// Returns the text that the kernel prints for an event; `None` if this test has no form for it.
/// `line` is that text: states and names of deferred work are letters there.
fn text(event: &Event<'_>, line: &Line<'_>) -> Option<String> {
    let task = |task: &Task<'_>| {
        format!("comm={} pid={} prio={}", task.name, task.thread, task.priority.unwrap())
    };
    let hex = |arguments: &[u64; 6]| arguments.map(|it| format!("{it:x}")).join(", ");
    Some(match event {
        Event::Switch { outgoing, state, incoming } => {
            let letters = line.details.split("prev_state=").nth(1)?.split(' ').next()?;
            assert_eq!(Some(*state), thread_state(letters), "{line:?}");
            let names = |prefix: &str, it: &Task<'_>| {
                task(it)
                    .replace("comm=", &format!("{prefix}_comm="))
                    .replace(" p", &format!(" {prefix}_p"))
            };
            format!(
                "{} prev_state={letters} ==> {}",
                names("prev", outgoing),
                names("next", incoming)
            )
        }
        Event::Waking { task: woken, cpu } | Event::Wakeup { task: woken, cpu } => {
            format!("{} target_cpu={cpu:03}", task(woken))
        }
        Event::Migrate { task: moved, from, to } => {
            format!("{} orig_cpu={from} dest_cpu={to}", task(moved))
        }
        Event::Fork { child, name } => {
            let (parent, _) = line.details.split_once(" child_comm=")?;
            format!("{parent} child_comm={name} child_pid={child}")
        }
        Event::NewTask { child, name, is_in_process } => {
            let flags = line.details.split("clone_flags=").nth(1)?.split(' ').next()?;
            assert_eq!(*is_in_process, i64::from_str_radix(flags, 16).unwrap() & 0x10000 != 0);
            format!(
                "pid={child} comm={name}{}",
                &line.details[line.details.find(" clone_flags")?..]
            )
        }
        Event::Exec { thread, former, file } => {
            format!("filename={file} pid={thread} old_pid={former}")
        }
        Event::Exit { task: ended } => {
            format!(
                "{}{}",
                task(ended),
                &line.details[line.details.find(" group_dead").unwrap_or(line.details.len())..]
            )
        }
        Event::Rename { thread, name } => {
            let (old, _) = line.details.split_once(" newcomm=")?;
            assert!(old.starts_with(&format!("pid={thread} ")));
            format!("{old} newcomm={name}{}", &line.details[line.details.find(" oom_score_adj")?..])
        }
        Event::SyscallEnter { number, arguments } => format!("NR {number} ({})", hex(arguments)),
        Event::SyscallExit { number, result } => format!("NR {number} = {result}"),
        Event::IrqEnter { irq, name } => format!("irq={irq} name={name}"),
        Event::IrqExit { irq, is_handled } => {
            format!("irq={irq} ret={}", if *is_handled { "handled" } else { "unhandled" })
        }
        Event::SoftirqEnter { vector, name } => format!("vec={vector} [action={name}]"),
        Event::SoftirqExit { vector } => {
            format!("vec={vector}{}", &line.details[line.details.find(" [")?..])
        }
        Event::Marker { text } => (*text).to_owned(),
        _ => return None,
    })
}

/// Returns the context that the kernel prints.
fn context(flags: &str) -> Context {
    match flags.chars().nth(2).unwrap() {
        'h' | 'H' | 'z' | 'Z' => Context::HardInterrupt,
        's' => Context::SoftInterrupt,
        '.' | 'b' => Context::Thread,
        _ => panic!("{flags}"),
    }
}

#[test]
fn the_kernel_prints_the_same_values() {
    let capture = Capture::read();
    let decoder = Decoder::new(ByteOrder::NATIVE, capture.formats.values().cloned());
    let mut events: Vec<_> = capture.cpus.iter().map(|cpu| capture.events(cpu)).collect();
    let (mut compared, mut contexts) = (BTreeMap::new(), BTreeSet::new());
    for line in capture.lines() {
        let raw = events[line.cpu].next().unwrap();
        let entry = decoder.decode(line.cpu as u16, &raw);
        assert_eq!((entry.ticks, entry.cpu), (line.time, line.cpu as u16));
        assert_eq!(entry.thread, line.thread as u64);
        assert_eq!(entry.context, context(line.flags), "{line:?}");
        contexts.insert(entry.context as u8);
        if let Some(text) = text(&entry.event, &line) {
            // The kernel prints a cut character as it is.
            let [text, printed] = [&text, line.details].map(|it| it.replace('\u{fffd}', ""));
            assert_eq!(text, printed, "{line:?}");
            *compared.entry(line.event).or_insert(0) += 1;
        }
    }
    assert!(events.iter_mut().all(|events| events.next().is_none()));
    assert_eq!(contexts.len(), 3, "threads, soft and hard interrupts");
    for name in [
        "sched_switch",
        "sched_waking",
        "sched_wakeup",
        "sched_wakeup_new",
        "sched_migrate_task",
        "sched_process_fork",
        "sched_process_exec",
        "sched_process_exit",
        "task_newtask",
        "task_rename",
        "sys_enter",
        "sys_exit",
        "irq_handler_entry",
        "irq_handler_exit",
        "softirq_entry",
        "softirq_exit",
        "tracing_mark_write",
    ] {
        assert!(compared.contains_key(name), "{name} is missing among {compared:?}");
    }
}

/// Returns the format and the bytes of the first captured event of this name.
fn first(capture: &Capture, name: &str) -> (EventFormat, Vec<u8>) {
    let format = capture.formats.values().find(|format| &*format.name == name).unwrap();
    let mut events = capture.cpus.iter().flat_map(|cpu| capture.events(cpu));
    (format.clone(), events.find(|event| event.id == format.id).unwrap().payload.to_vec())
}

fn decode(format: EventFormat, payload: &[u8], check: impl Fn(&Event<'_>)) {
    let id = format.id;
    let decoder = Decoder::new(ByteOrder::NATIVE, [format]);
    let raw = RawEvent { time: 5, id, payload, offset: 16 };
    check(&decoder.decode(3, &raw).event);
}

#[test]
fn what_lacks_a_field_is_another_event() {
    let capture = Capture::read();
    let (format, payload) = first(&capture, "sched_switch");
    decode(format.clone(), &payload, |event| assert!(matches!(event, Event::Switch { .. })));
    decode(format.clone(), &payload[..60], |event| {
        assert!(
            matches!(event, Event::Other { format, payload, .. } if &*format.name == "sched_switch" && payload.len() == 60)
        );
    });
    let mut changed = format;
    changed.fields.retain(|field| &*field.name != "next_prio");
    decode(changed, &payload, |event| assert!(matches!(event, Event::Other { .. })));
}

#[test]
fn an_event_without_a_format() {
    let capture = Capture::read();
    let (format, payload) = first(&capture, "sched_switch");
    let decoder = Decoder::new(ByteOrder::NATIVE, [format]);
    let raw = RawEvent { time: 5, id: 9, payload: &payload, offset: 16 };
    let entry = decoder.decode(3, &raw);
    assert_eq!((entry.ticks, entry.cpu, entry.event), (5, 3, Event::Unknown { id: 9 }));
    let thread = ByteOrder::NATIVE.number(&payload[4..8]).unwrap();
    assert_eq!(entry.thread, thread);
    assert_eq!(Decoder::default().decode(3, &raw).thread, 0);
}

#[test]
fn states_are_those_of_the_format() {
    let capture = Capture::read();
    let (mut format, mut payload) = first(&capture, "sched_switch");
    // As in kernels before 4.14, which have other numbers.
    format.symbols = vec![(1, "S".into()), (16, "Z".into()), (32, "X".into())];
    let expected = [
        (0, ThreadState::RUNNING),
        (1, ThreadState::BLOCKED),
        (16, ThreadState::DYING),
        (32, ThreadState::DEAD),
        (1024, ThreadState::RUNNING),
    ];
    for (bits, expected) in expected {
        payload[32..40].copy_from_slice(&i64::to_ne_bytes(bits));
        decode(format.clone(), &payload, |event| {
            assert!(matches!(event, Event::Switch { state, .. } if *state == expected), "{bits}");
        });
    }
}

#[test]
fn an_old_wakeup_of_a_thread_that_was_awake() {
    let capture = Capture::read();
    let (mut format, mut payload) = first(&capture, "sched_wakeup");
    let mut success = format.field("prio").unwrap().clone();
    (success.name, success.offset) = ("success".into(), 36);
    format.fields.push(success);
    payload.resize(40, 0);
    decode(format.clone(), &payload, |event| assert!(matches!(event, Event::Other { .. })));
    payload[36] = 1;
    decode(format, &payload, |event| assert!(matches!(event, Event::Wakeup { .. })));
}
