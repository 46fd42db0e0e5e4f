//! Providers without trace points, each with an output file.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::sync::{mpsc, Mutex};

use trace_format::audit::Audit;
use trace_format::layout::{InstantScope, ObjectType, ThreadKoids, ThreadState};
use trace_format::record::{
    Arguments, ContextSwitch, Event, EventKind, KernelObject, Log, Record, Text, Thread, Value,
};
use trace_format::Reader;
use trace_protocol::message::ClockSource;
use trace_protocol::mode::BufferingMode;
use trace_provider::{Context, NotTraced, Provider, TraceState};

/// A record, as a line of text.
fn line(item: &trace_format::Item<'_>) -> Option<String> {
    let text = |text| item.text(text).into_owned();
    match &item.record {
        Record::Event(event) if text(event.category) != "trace" => {
            let arguments: Vec<String> = event
                .arguments
                .iter()
                .map(|argument| format!(" {}={:?}", text(argument.name), argument.value))
                .collect();
            Some(format!("{} {:?}{}", text(event.name), event.kind, arguments.concat()))
        }
        Record::KernelObject(object) if object.object_type == ObjectType::THREAD => None,
        Record::KernelObject(object) => Some(format!("object {}", text(object.name))),
        Record::Log(log) => Some(format!("log {}", String::from_utf8_lossy(log.message))),
        Record::ContextSwitch(switch) => Some(format!("switch on {}", switch.cpu)),
        _ => None,
    }
}

/// Reads an archive. All refs in it are registered.
fn lines(path: &Path) -> Vec<String> {
    let mut reader = Reader::new(std::fs::File::open(path).unwrap());
    let (mut lines, mut audit) = (Vec::new(), Audit::default());
    while let Some(item) = reader.next().unwrap() {
        audit.item(&item);
        lines.extend(line(&item));
    }
    assert_eq!(audit, Audit::default());
    lines
}

/// Returns the records that `write` writes to an output file.
fn recorded(
    choose: impl FnOnce(trace_provider::Builder) -> trace_provider::Builder,
    write: impl FnOnce(&Provider, &mut Context<'_>),
) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("provider.fxt");
    let provider = choose(Provider::builder("test").output(&path)).connect().unwrap();
    let mut writer = provider.writer();
    write(&provider, &mut writer.context().expect("it records from the start"));
    drop((writer, provider));
    let mut lines = lines(&path);
    // The process, which the collector writes.
    assert!(lines.remove(0).starts_with("object "), "{lines:?}");
    lines
}

#[test]
fn records_of_any_kind_are_written() {
    let lines = recorded(
        |builder| builder,
        |_, context| {
            assert!(context.counter("test", "load", 7, &[("value", Value::Uint32(1))]));
            assert!(context.instant("test", "moment", &[]));
            assert!(context.event("test", "begin", EventKind::AsyncBegin { id: 3 }, &[]));
            let other = context.thread(u64::from(std::process::id()), 1 << 40);
            assert!(matches!(other, Thread::Indexed(_)));
            let complete = EventKind::DurationComplete { end: 30 };
            assert!(context.event_at(20, other, "test", "elsewhere", complete, &[]));
            let log = Log { ticks: 5, thread: Context::THIS_THREAD, message: b"a line" };
            assert!(context.write(&Record::from(log)));
            let object = KernelObject {
                object_type: ObjectType::PROCESS,
                koid: u64::from(std::process::id()),
                name: context.string("a device"),
                arguments: Arguments::NONE,
            };
            assert!(context.write_durable(&Record::from(object)));
        },
    );
    let mut expected = [
        "object a device".to_owned(),
        "load Counter { id: 7 } value=Uint32(1)".to_owned(),
        format!("moment {:?}", EventKind::Instant { scope: Some(InstantScope::Thread) }),
        "begin AsyncBegin { id: 3 }".to_owned(),
        "elsewhere DurationComplete { end: 30 }".to_owned(),
        "log a line".to_owned(),
    ];
    let mut lines = lines;
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn categories_that_are_off_are_not_written() {
    let lines = recorded(
        |builder| builder.categories(["on"]),
        |_, context| {
            assert!(context.is_enabled("on") && !context.is_enabled("off"));
            assert!(context.instant("on", "written", &[]));
            assert!(!context.instant("off", "left out", &[]));
        },
    );
    assert_eq!(lines.len(), 1);
}

/// Records that the collector would refuse are refused at once.
#[test]
fn records_of_other_owners_are_refused() {
    let switch = Record::from(ContextSwitch {
        ticks: 1,
        cpu: 3,
        outgoing_state: ThreadState::BLOCKED,
        outgoing_thread: 1,
        incoming_thread: 2,
        arguments: Arguments::NONE,
    });
    let lines = recorded(
        |builder| builder,
        |_, context| {
            assert!(!context.write(&switch), "only a provider about the machine may");
            let unknown = Event {
                ticks: 1,
                thread: Thread::Indexed(200),
                category: "test".into(),
                name: Text::Indexed(9000),
                kind: EventKind::DurationBegin,
                arguments: Arguments::NONE,
            };
            assert!(!context.write(&Record::from(unknown)));
            assert!(!context.write_words(&[0]) && !context.write_words(&[]));
        },
    );
    assert_eq!(lines, [""; 0]);
    let lines = recorded(trace_provider::Builder::about_machine, |_, context| {
        assert!(context.write(&switch))
    });
    assert_eq!(lines, ["switch on 3"]);
}

#[test]
fn providers_of_one_process_are_independent() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let connect = |name: &str| Provider::builder(name).output(path(name)).connect().unwrap();
    let (first, second) = (connect("first"), connect("second"));
    let (mut one, mut two) = (first.writer(), second.writer());
    for number in 0..3 {
        let number = [("number", Value::Uint32(number))];
        assert!(one.context().unwrap().instant("test", "one", &number));
        assert!(two.context().unwrap().instant("test", "two", &number));
    }
    drop(first);
    assert!(one.context().is_none());
    assert!(two.context().unwrap().instant("test", "two", &[]));
    drop(second);
    let count = |name: &str, text: &str| {
        lines(&path(name)).iter().filter(|line| line.starts_with(text)).count()
    };
    assert_eq!((count("first", "one"), count("first", "two")), (3, 0));
    assert_eq!((count("second", "one"), count("second", "two")), (0, 4));
}

/// A later provider reuses the memory of an earlier one, but not its refs.
#[test]
fn a_later_provider_has_no_refs_of_an_earlier_one() {
    for round in 0..5 {
        let name = format!("round {round}");
        let lines = recorded(
            |builder| builder,
            |provider, context| {
                assert_eq!(provider.state(), TraceState::Started);
                assert!(context.instant("test", &name, &[]));
            },
        );
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with(&name));
    }
}

#[test]
fn the_path_that_cannot_be_written_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let pattern = directory.path().join("missing/%p.fxt");
    let provider = Provider::builder("test").output(pattern).connect().unwrap();
    let Err(NotTraced::Output { path, .. }) = provider.status() else { panic!() };
    assert_eq!(path, directory.path().join(format!("missing/{}.fxt", std::process::id())));
}

#[test]
fn each_mode_and_clock_works() {
    for mode in [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming] {
        let lines = recorded(
            |builder| builder.buffering_mode(mode).clock(ClockSource::Boottime),
            |_, context| {
                assert_eq!(context.buffering_mode(), mode);
                let before = trace_protocol::clock::boottime();
                let now = context.now();
                assert!((before..=trace_protocol::clock::boottime()).contains(&now));
                assert!(context.instant("test", "moment", &[]));
            },
        );
        assert_eq!(lines.len(), 1);
    }
}

#[test]
fn words_are_reserved_and_committed() {
    let lines = recorded(
        |builder| builder,
        |_, context| {
            let thread = ThreadKoids::new(u64::from(std::process::id()), 12);
            let event = Event {
                ticks: 4,
                thread: Thread::Inline(thread),
                category: context.string("test"),
                name: context.string("by hand"),
                kind: EventKind::DurationBegin,
                arguments: Arguments::NONE,
            };
            let mut words = Vec::new();
            trace_format::encode::append(&mut words, &Record::from(event)).unwrap();
            let open = context.reserve(words.len()).unwrap();
            for (word, value) in open.words().iter().zip(&words).skip(1) {
                word.store(*value, std::sync::atomic::Ordering::Relaxed);
            }
            open.commit(words[0]);
        },
    );
    assert_eq!(lines, ["by hand DurationBegin"]);
}

/// A caller that does not commit leaves the writer usable.
#[test]
fn uncommitted_words_are_abandoned() {
    let lines = recorded(
        |builder| builder,
        |_, context| {
            drop(context.reserve(4).unwrap());
            assert!(context.instant("test", "next", &[]));
        },
    );
    assert_eq!(lines.len(), 1, "{lines:?}");
}

/// The size of more words would overflow.
#[test]
fn more_words_than_a_record_has_are_refused() {
    let lines = recorded(
        |builder| builder,
        |_, context| {
            for words in [1 << 30, 1 << 32, 1 << 60, 1 << 61, usize::MAX] {
                assert!(context.reserve(words).is_none(), "{words}");
            }
            assert!(context.reserve(4095).is_some());
            assert!(context.instant("test", "next", &[]));
        },
    );
    assert_eq!(lines.len(), 1, "{lines:?}");
}

/// Observers can write records before the end.
#[test]
fn observers_follow_the_recording() {
    let (sender, states) = mpsc::channel();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("observed.fxt");
    let provider = Provider::builder("test").output(&path).connect().unwrap();
    let writer = Mutex::new(provider.writer());
    let observer = provider.observe(move |state| {
        let mut writer = writer.lock().unwrap();
        let context = writer.context();
        let wrote = context.is_some_and(|mut context| context.instant("test", "observed", &[]));
        let _received = sender.send((state, wrote));
    });
    drop(provider);
    drop(observer);
    let states: Vec<_> = states.try_iter().collect();
    assert_eq!(states, [(TraceState::Stopping, true), (TraceState::Stopped, false)]);
    assert_eq!(lines(&path).iter().filter(|line| line.starts_with("observed")).count(), 1);
}

/// The service thread may not find a writer that exists for a short time.
#[test]
fn a_short_writer_has_the_name_of_its_thread() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("named.fxt");
    let provider = Provider::builder("test").output(&path).connect().unwrap();
    let moment = std::thread::Builder::new().name("a moment".to_owned());
    std::thread::scope(|scope| {
        let write = || assert!(provider.writer().context().unwrap().instant("test", "i", &[]));
        moment.spawn_scoped(scope, write).unwrap().join().unwrap();
    });
    drop(provider);
    let mut reader = Reader::new(std::fs::File::open(&path).unwrap());
    let mut names = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::KernelObject(object) if object.object_type == ObjectType::THREAD => {
                names.push(item.text(object.name).into_owned());
            }
            _ => {}
        }
    }
    assert_eq!(names, ["a moment"]);
}

/// A forked child is not a provider. It can use its copy of one without effect.
#[test]
fn a_forked_child_writes_nothing() {
    let lines = recorded(
        |builder| builder,
        |provider, context| {
            assert!(context.instant("test", "parent", &[]));
            // SAFETY: the child only reads and stores, and then leaves without destructors.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let wrote = context.instant("test", "child", &[]);
                let stopped = provider.state() == TraceState::Stopped;
                // SAFETY: ends the process.
                unsafe { libc::_exit(i32::from(wrote || !stopped)) };
            }
            let mut status = 0;
            // SAFETY: the child is this process's; `status` is a valid place.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
            assert!(context.instant("test", "parent", &[]));
        },
    );
    assert!(lines.iter().all(|line| line.starts_with("parent")) && lines.len() == 2, "{lines:?}");
}

/// Ends a child that blocks, on a thread that blocks all signals.
fn end_after_10_seconds() {
    let mut alarm = std::mem::MaybeUninit::uninit();
    // SAFETY: the call fills the set.
    unsafe { libc::sigemptyset(alarm.as_mut_ptr()) };
    // SAFETY: the set was filled above.
    unsafe { libc::sigaddset(alarm.as_mut_ptr(), libc::SIGALRM) };
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, alarm.as_ptr(), std::ptr::null_mut()) };
    // SAFETY: an alarm without a handler ends the process.
    unsafe { libc::alarm(10) };
}

/// The thread of the observer is the only one of the child.
#[test]
fn a_forked_child_that_returns_from_an_observer_ends() {
    let (sender, statuses) = mpsc::channel();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("observed.fxt");
    let provider = Provider::builder("test").output(&path).connect().unwrap();
    let observer = provider.observe(move |state| {
        if state != TraceState::Stopping {
            return;
        }
        // SAFETY: the child has a copy of this thread, and the C library keeps the allocator
        // usable.
        let child = unsafe { libc::fork() };
        if child == 0 {
            return end_after_10_seconds();
        }
        let mut status = -1;
        // SAFETY: the child is this process's; `status` is a valid place.
        unsafe { libc::waitpid(child, &mut status, 0) };
        sender.send(status).unwrap();
    });
    drop((provider, observer));
    assert_eq!(statuses.try_iter().collect::<Vec<_>>(), [0]);
}
