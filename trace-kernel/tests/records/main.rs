//! Events as records of the trace format.

mod counters;

use trace_format::layout::{InstantScope, ThreadState, ARTIFICIAL_KOID_BIT};
use trace_format::{EventKind, Reader, Record, Value, Writer};
use trace_kernel::format::EventFormat;
use trace_kernel::fxt::Translator;
use trace_kernel::page::Missed;
use trace_kernel::{ByteOrder, Context, Entry, Event, Task};

const INSTANT: EventKind = EventKind::Instant { scope: Some(InstantScope::Thread) };
const CPU_1: u64 = ARTIFICIAL_KOID_BIT | ((1 << 30) + 2);

/// Translates events, and returns a line for each record but those of tables.
fn translated(write: impl FnOnce(&mut Translator, &mut Writer<Vec<u8>>)) -> Vec<String> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut translator = Translator::default();
    write(&mut translator, &mut writer);
    translator.finish(&mut writer).unwrap();
    let archive = writer.into_inner();
    let mut reader = Reader::new(&*archive);
    let mut lines = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let arguments = item.record.arguments();
        let arguments: Vec<_> = arguments
            .iter()
            .map(|argument| {
                let name = item.text(argument.name);
                match argument.value {
                    Value::String(text) => format!("{name}={}", item.text(text)),
                    Value::Int32(number) => format!("{name}={number}"),
                    Value::Uint32(number) => format!("{name}={number}"),
                    Value::Int64(number) => format!("{name}={number}"),
                    Value::Uint64(number) => format!("{name}={number}"),
                    Value::Koid(koid) => format!("{name}=#{koid:x}"),
                    other => format!("{name}={other:?}"),
                }
            })
            .collect();
        let line = match &item.record {
            Record::ContextSwitch(it) => format!(
                "{} cpu {} switch {} {:?} to {}",
                it.ticks, it.cpu, it.outgoing_thread, it.outgoing_state, it.incoming_thread
            ),
            Record::ThreadWakeup(it) => format!("{} cpu {} wakes {}", it.ticks, it.cpu, it.thread),
            Record::Log(it) => {
                let koids = item.thread(it.thread);
                let message = String::from_utf8_lossy(it.message);
                format!("{} {:x}.{:x} log {message}", it.ticks, koids.process, koids.thread)
            }
            Record::KernelObject(it) => format!("#{:x} is {}", it.koid, item.text(it.name)),
            Record::Event(it) => {
                let koids = item.thread(it.thread);
                let kind = match it.kind {
                    INSTANT => "instant".to_owned(),
                    EventKind::DurationComplete { end } => format!("to {end}"),
                    EventKind::DurationBegin => "begins".to_owned(),
                    other => format!("{other:?}"),
                };
                let (category, name) = (item.text(it.category), item.text(it.name));
                let (process, thread) = (koids.process, koids.thread);
                format!("{} {process:x}.{thread:x} {category} {name} {kind}", it.ticks)
            }
            _ => continue,
        };
        lines.push([vec![line], arguments].concat().join(" "));
    }
    lines
}

/// Translates events at the times 1, 2, … of thread 7 on CPU 1.
fn records(events: &[Event<'_>]) -> Vec<String> {
    translated(|translator, writer| {
        for (ticks, event) in (1..).zip(events) {
            let entry = Entry { ticks, cpu: 1, thread: 7, context: Context::Thread, event: *event };
            translator.entry(writer, &entry).unwrap();
        }
    })
}

const A: Task<'_> = Task { name: "a", thread: 7, priority: Some(120) };
const B: Task<'_> = Task { name: "b", thread: 8, priority: Some(98) };
const IDLE: Task<'_> = Task { name: "swapper/1", thread: 0, priority: Some(120) };

#[test]
fn scheduling() {
    let state = ThreadState::BLOCKED;
    let events = [
        Event::Waking { task: B, cpu: 3 },
        Event::Wakeup { task: B, cpu: 3 },
        Event::Switch { outgoing: A, state, incoming: B },
        Event::Wakeup { task: A, cpu: 1 },
        Event::Migrate { task: A, from: 1, to: 2 },
        Event::Switch { outgoing: B, state: ThreadState::RUNNING, incoming: IDLE },
    ];
    let expected = [
        "#8 is b",
        "1 cpu 3 wakes 8 weight=98 waker=#7",
        "#7 is a",
        "3 cpu 1 switch 7 ThreadState(3) to 8 outgoing_weight=120 incoming_weight=98",
        "4 cpu 1 wakes 7 weight=120",
        "5 0.7 kernel:sched migrate instant from=1 to=2",
        "6 cpu 1 switch 8 ThreadState(1) to 0 outgoing_weight=98 incoming_weight=120",
    ];
    assert_eq!(records(&events), expected);
}

/// An interrupt wakes up threads in the time of any thread.
#[test]
fn wakers_are_threads_or_interrupts() {
    let wake = |context, thread| {
        let lines = translated(|translator, writer| {
            let event = Event::Waking { task: B, cpu: 3 };
            let entry = Entry { ticks: 1, cpu: 1, thread, context, event };
            translator.entry(writer, &entry).unwrap();
        });
        lines[1].strip_prefix("1 cpu 3 wakes 8 weight=98").unwrap().to_owned()
    };
    assert_eq!(wake(Context::Thread, 7), " waker=#7");
    assert_eq!(wake(Context::Thread, 0), "");
    assert_eq!(wake(Context::HardInterrupt, 7), " interrupt=hard interrupted=#7");
    assert_eq!(wake(Context::HardInterrupt, 0), " interrupt=hard");
    assert_eq!(wake(Context::SoftInterrupt, 7), " interrupt=soft interrupted=#7");
}

#[test]
fn tasks() {
    let events = [
        // The process of thread 7 is unknown, so that of its thread 9 is.
        Event::NewTask { child: 9, name: "a", is_in_process: true },
        Event::NewTask { child: 8, name: "a", is_in_process: false },
        Event::Fork { child: 8, name: "a" },
        Event::Exec { thread: 7, former: 7, file: "/bin/a" },
        Event::NewTask { child: 10, name: "a", is_in_process: true },
        Event::Rename { thread: 10, name: "worker" },
        Event::Exit { task: B },
    ];
    let expected = [
        "#9 is a",
        "#8 is a process=#8",
        "3 0.7 kernel:tasks fork instant child=#8",
        "4 7.7 kernel:tasks exec instant file=/bin/a",
        "#a is a process=#7",
        "#a is worker process=#7",
        "6 7.a kernel:tasks rename instant name=worker",
        "#8 is b process=#8",
        "7 8.8 kernel:tasks exit instant",
    ];
    assert_eq!(records(&events), expected);
}

#[test]
fn calls_and_interrupts() {
    let enter = |number| Event::SyscallEnter { number, arguments: [1, 2, 3, 4, 5, u64::MAX] };
    let events = [
        // This one began before the trace.
        Event::SyscallExit { number: 3, result: 0 },
        enter(1),
        Event::SoftirqEnter { vector: 1, name: "TIMER" },
        Event::IrqEnter { irq: 9, name: "disk" },
        Event::IrqExit { irq: 9, is_handled: true },
        Event::SoftirqExit { vector: 1 },
        Event::SyscallExit { number: 1, result: -4 },
        // An end of another call than the last begin, which has lost its own.
        enter(2),
        Event::SyscallExit { number: 5, result: 0 },
        enter(202),
    ];
    let arguments = "arg0=1 arg1=2 arg2=3 arg3=4 arg4=5 arg5=18446744073709551615";
    let cpu = format!("{:x}.{CPU_1:x}", CPU_1 - 2);
    let expected = [
        format!("#{:x} is CPUs", CPU_1 - 2),
        format!("#{CPU_1:x} is CPU 1 process=#{:x}", CPU_1 - 2),
        format!("4 {cpu} kernel:irq disk to 5 irq=9 handled=Bool(true)"),
        format!("3 {cpu} kernel:irq TIMER to 6 vector=1"),
        format!("2 0.7 kernel:syscall syscall 1 to 7 number=1 {arguments} result=-4"),
        format!("10 0.7 kernel:syscall syscall 202 begins number=202 {arguments}"),
    ];
    assert_eq!(records(&events), expected);
}

/// The exit of `rt_sigreturn` has the number -1.
#[test]
fn a_system_call_ends_without_its_number() {
    let events = [
        Event::SyscallEnter { number: 15, arguments: [0; 6] },
        Event::SyscallExit { number: -1, result: 3 },
        Event::IrqEnter { irq: 9, name: "disk" },
        Event::IrqExit { irq: -1, is_handled: true },
    ];
    let zeros = "arg0=0 arg1=0 arg2=0 arg3=0 arg4=0 arg5=0";
    let expected = format!("1 0.7 kernel:syscall syscall 15 to 2 number=15 {zeros} result=3");
    let lines = records(&events);
    assert_eq!((&lines[0], lines.len()), (&expected, 3));
}

/// Only `task_newtask` reports the process of a new thread.
#[test]
fn the_process_of_a_reused_thread_id() {
    let events = [
        Event::NewTask { child: 8, name: "a", is_in_process: false },
        Event::Fork { child: 8, name: "a" },
        Event::Rename { thread: 8, name: "b" },
        Event::Fork { child: 8, name: "c" },
        Event::Rename { thread: 8, name: "d" },
    ];
    let expected = [
        "#8 is a process=#8",
        "2 0.7 kernel:tasks fork instant child=#8",
        "#8 is b process=#8",
        "3 8.8 kernel:tasks rename instant name=b",
        "#8 is c",
        "4 0.7 kernel:tasks fork instant child=#8",
        "#8 is d",
        "5 0.8 kernel:tasks rename instant name=d",
    ];
    assert_eq!(records(&events), expected);
}

#[test]
fn names_of_formats_are_cut() {
    let name = "n".repeat(40_000);
    let format =
        format!("name: {name}\nID: 5\nformat:\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n");
    let format = EventFormat::parse("sub", &format).unwrap();
    let event = Event::Other { format: &format, payload: b"", order: ByteOrder::Little };
    let lines = records(&[event; 10]);
    assert!(lines.len() == 10 && lines[9].starts_with("10 0.7 kernel:event:sub/nnn"));
    // Labels within the limit are written once.
    let mut writer = Writer::new(Vec::new()).unwrap();
    for ticks in 1..=10 {
        let context = Context::Thread;
        let entry = Entry { ticks, cpu: 1, thread: 7, context, event };
        Translator::default().entry(&mut writer, &entry).unwrap();
    }
    assert!(writer.into_inner().len() < 100_000);
}

#[test]
fn a_thread_ends_in_a_system_call() {
    let arguments = [0; 6];
    let events = [
        Event::SyscallEnter { number: 231, arguments },
        Event::Exit { task: B },
        Event::Exit { task: A },
    ];
    let lines = records(&events);
    let zeros = "arg0=0 arg1=0 arg2=0 arg3=0 arg4=0 arg5=0";
    let expected = [
        "#8 is b".to_owned(),
        "2 0.8 kernel:tasks exit instant".to_owned(),
        "#7 is a".to_owned(),
        format!("1 0.7 kernel:syscall syscall 231 to 3 number=231 {zeros}"),
        "3 0.7 kernel:tasks exit instant".to_owned(),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn markers_and_other_events() {
    let format = "name: x\nID: 5\nformat:\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n\
        \tfield:u8 b[2];\toffset:4;\tsize:2;\tsigned:0;\n\tfield:char c[];\toffset:6;\tsize:0;\n";
    let format = EventFormat::parse("sub", format).unwrap();
    let payload = b"\xfe\xff\xff\xff\xab\x01text\0";
    let events = [
        Event::Marker { text: "B|7|work" },
        Event::Marker { text: "E|7" },
        Event::Marker { text: "hello" },
        Event::Other { format: &format, payload, order: ByteOrder::Little },
        Event::Unknown { id: 77 },
    ];
    let expected = [
        "1 7.7 atrace work DurationBegin",
        "2 7.7   DurationEnd",
        "3 0.7 atrace marker instant text=hello",
        "4 0.7 kernel:event:sub/x x instant a=-2 b=ab01 c=text",
        "5 0.7 kernel:event event without a format instant id=77",
    ];
    let found = records(&events);
    assert_eq!(found[0].replace("begins", "DurationBegin"), expected[0]);
    assert_eq!(found[1..], expected[1..]);
}

#[test]
fn missing_events() {
    let lines = translated(|translator, writer| {
        let mut entry = |translator: &mut Translator, ticks, event| {
            let context = Context::Thread;
            let entry = Entry { ticks, cpu: 1, thread: 7, context, event };
            translator.entry(writer, &entry).unwrap();
            if ticks == 2 {
                translator.missed(writer, 1, Missed::None, (2, 5)).unwrap();
                translator.missed(writer, 1, Missed::Count(30), (2, 5)).unwrap();
                translator.missed(writer, 1, Missed::Unknown, (5, 6)).unwrap();
            }
        };
        entry(translator, 1, Event::SyscallEnter { number: 1, arguments: [0; 6] });
        entry(translator, 2, Event::IrqEnter { irq: 9, name: "disk" });
        // These ends may belong to other begins.
        entry(translator, 7, Event::IrqExit { irq: 9, is_handled: true });
        entry(translator, 8, Event::SyscallExit { number: 1, result: 0 });
    });
    let cpu = format!("{:x}.{CPU_1:x}", CPU_1 - 2);
    let expected = [
        format!("5 {cpu} trace records dropped instant reason=kernel buffer full number=30 from=2 to=5"),
        format!("6 {cpu} trace records dropped instant reason=kernel buffer full: at least one number=1 from=5 to=6"),
    ];
    assert_eq!(lines[2..], expected);
}

/// Threads of the scope create others, which are in it. Names of other threads are marked.
#[test]
fn threads_outside_of_the_scope() {
    let lines = translated(|translator, writer| {
        translator.limit([7]);
        let mut entry = |ticks, thread, event| {
            let context = Context::Thread;
            let entry = Entry { ticks, cpu: 0, thread, context, event };
            translator.entry(writer, &entry).unwrap();
        };
        let create = |child| Event::NewTask { child, name: "child", is_in_process: false };
        let task = |name, thread| Task { name, thread, priority: Some(120) };
        entry(1, 7, create(8));
        entry(2, 8, create(9));
        entry(3, 20, create(21));
        let (outgoing, incoming) = (task("child", 9), task("other", 30));
        entry(4, 9, Event::Switch { outgoing, state: ThreadState::BLOCKED, incoming });
        entry(5, 9, Event::Exit { task: task("child", 9) });
        // The id is used again outside of the scope.
        entry(6, 20, create(9));
    });
    let names: Vec<_> = lines.iter().filter(|line| line.starts_with('#')).collect();
    let expected = [
        "#8 is child process=#8",
        "#9 is child process=#9",
        "#15 is child process=#15 partial=Bool(true)",
        "#1e is other partial=Bool(true)",
        "#9 is child process=#9 partial=Bool(true)",
    ];
    assert_eq!(names, expected);
}

const F: (&str, &str) = ("kernel:uretprobe:/a:f", "f");
const G: (&str, &str) = ("kernel:uretprobe:/a:g", "g");

/// A call or a return of thread 7.
enum Step {
    Call((&'static str, &'static str), u64),
    Return((&'static str, &'static str), u64),
    Exit,
    Loss,
}

/// Translates calls and returns at the times 1, 2, … of thread 7: `START NAME KIND`.
fn calls(steps: &[Step]) -> Vec<String> {
    let lines = translated(|translator, writer| {
        for (ticks, step) in (1..).zip(steps) {
            let event = Event::Marker { text: "" };
            let entry = Entry { ticks, cpu: 1, thread: 7, context: Context::Thread, event };
            match *step {
                Step::Call(labels, stack) => {
                    translator.call_begin(writer, &entry, labels, Some(stack)).unwrap();
                }
                Step::Return(labels, stack) => {
                    translator.call_end(writer, &entry, labels, Some(stack)).unwrap();
                }
                Step::Exit => {
                    let task = Task { name: "", thread: 7, priority: None };
                    let event = Event::Exit { task };
                    translator.entry(writer, &Entry { event, ..entry }).unwrap();
                }
                Step::Loss => translator.missed(writer, 1, Missed::Count(1), (0, ticks)).unwrap(),
            }
        }
    });
    let calls = lines.iter().filter(|line| line.contains("kernel:uretprobe"));
    let calls = calls.map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        [&fields[..1], &fields[3..]].concat().join(" ")
    });
    calls.collect()
}

#[test]
fn calls_are_durations_of_entry_and_return() {
    use Step::{Call, Return};
    let nested = [Call(F, 96), Call(G, 64), Return(G, 64), Return(F, 96)];
    assert_eq!(calls(&nested), ["2 g to 3", "1 f to 4"]);
    let recursive = [Call(F, 96), Call(F, 64), Return(F, 64), Return(F, 96)];
    assert_eq!(calls(&recursive), ["2 f to 3", "1 f to 4"]);
    // A jump in place of a call: both return at once.
    let jumped = [Call(F, 96), Call(G, 96), Return(G, 96), Return(F, 96)];
    assert_eq!(calls(&jumped), ["2 g to 3", "1 f to 4"]);
    assert_eq!(calls(&[Return(F, 96), Call(F, 96)]), ["2 f begins"]);
}

#[test]
fn calls_that_do_not_return_are_instants() {
    use Step::{Call, Exit, Loss, Return};
    let without = "f instant returned=Bool(false)";
    let unwound = [Call(F, 96), Call(F, 64), Return(F, 96)];
    assert_eq!(calls(&unwound), ["1 f to 3", &format!("2 {without}")]);
    let higher = [Call(F, 64), Call(G, 96), Return(G, 96)];
    assert_eq!(calls(&higher), [&format!("1 {without}"), "2 g to 3"]);
    assert_eq!(calls(&[Call(F, 64), Exit, Return(F, 64)]), [format!("1 {without}")]);
    assert_eq!(calls(&[Call(F, 64), Loss, Return(F, 64)]), [format!("1 {without}")]);
}

/// Another thread than the first one executes a program: it gets the id of the process.
#[test]
fn a_process_whose_first_thread_is_replaced_stays_in_the_scope() {
    let lines = translated(|translator, writer| {
        translator.limit([7]);
        translator.process(7, 7);
        let mut at = |ticks, thread, event| {
            let entry = Entry { ticks, cpu: 1, thread, context: Context::Thread, event };
            translator.entry(writer, &entry).unwrap();
        };
        at(1, 7, Event::NewTask { child: 8, name: "a", is_in_process: true });
        at(2, 8, Event::SyscallEnter { number: 59, arguments: [0; 6] });
        at(3, 7, Event::Exit { task: A });
        at(4, 7, Event::Rename { thread: 7, name: "b" });
        at(5, 7, Event::Exec { thread: 7, former: 8, file: "/bin/b" });
        at(6, 7, Event::SyscallExit { number: 59, result: 0 });
        at(7, 7, Event::NewTask { child: 9, name: "b", is_in_process: false });
    });
    let expected = [
        "#8 is a process=#7",
        "#7 is a process=#7",
        "3 7.7 kernel:tasks exit instant",
        "#7 is b process=#7 partial=Bool(true)",
        "4 7.7 kernel:tasks rename instant name=b",
        "2 7.8 kernel:syscall syscall 59 to 5 number=59 arg0=0 arg1=0 arg2=0 arg3=0 arg4=0 arg5=0",
        "#7 is b process=#7",
        "5 7.7 kernel:tasks exec instant file=/bin/b",
        "#9 is b process=#9",
    ];
    assert_eq!(lines, expected);
}
