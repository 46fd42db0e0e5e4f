//! Names that the application sets.

use trace_runtime::{trace_instant, trace_process_name, trace_thread_name, Track};

use crate::archive::{alone, lines, this_thread, Recording};

/// A thread has its last name in every recording, however short it lives.
#[test]
fn threads_have_the_names_that_the_application_sets() {
    let (to_thread, commands) = std::sync::mpsc::channel::<()>();
    let (to_test, done) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("kernel's name".to_owned()).spawn(move || {
        trace_thread_name!("a name that is longer than the kernel's fifteen bytes");
        let _sent = to_test.send(this_thread());
        for () in commands {
            trace_instant!("names", "named");
            let _sent = to_test.send(0);
        }
    });
    let id = done.recv().unwrap();
    let expected = format!(
        "kernel 2 {id:#x} a name that is longer than the kernel's fifteen bytes process=#{}",
        std::process::id()
    );
    for _ in 0..2 {
        let recording = Recording::start();
        to_thread.send(()).unwrap();
        done.recv().unwrap();
        let records = recording.end();
        let names = lines(&records, &format!("kernel 2 {id:#x} "));
        assert_eq!(names.last(), Some(&expected), "{names:?}");
    }
    drop(to_thread);
    thread.unwrap().join().unwrap();
}

#[test]
fn a_short_lived_thread_has_its_name() {
    let recording = Recording::start();
    let short = std::thread::Builder::new().name("short".to_owned()).spawn(|| {
        trace_thread_name!(String::from("given before"));
        trace_instant!("names", "short");
        trace_thread_name!("given after");
        this_thread()
    });
    let id = short.unwrap().join().unwrap();
    let records = recording.end();
    let names = lines(&records, &format!("kernel 2 {id:#x} "));
    assert!(names.last().unwrap().contains(" given after "), "{names:?}");
}

#[test]
fn the_process_has_the_name_that_the_application_sets() {
    let _alone = alone();
    trace_process_name!("given before");
    let recording = Recording::start();
    let process = std::process::id();
    trace_process_name!(format!("given {}", "during"));
    let records = recording.end();
    let names = lines(&records, &format!("kernel 1 {process:#x} "));
    let expected = [
        format!("kernel 1 {process:#x} given before"),
        format!("kernel 1 {process:#x} given during"),
    ];
    assert_eq!(names[names.len() - 2..], expected);
    let records = Recording::start().end();
    assert_eq!(lines(&records, "given before"), Vec::<String>::new());
    assert_eq!(lines(&records, "given during").len(), 1);
}

/// A name that is too long is cut.
#[test]
fn long_names_are_cut() {
    let recording = Recording::start();
    let name = "ü".repeat(600);
    let id = std::thread::spawn(move || {
        trace_thread_name!(name);
        this_thread()
    });
    let id = id.join().unwrap();
    let records = recording.end();
    let names = lines(&records, &format!("kernel 2 {id:#x} "));
    assert!(names.iter().any(|line| line.matches('ü').count() == 500), "{names:?}");
}

/// An object that is renamed often has its last name, and does not use up the space for other
/// names.
#[test]
fn names_that_change_leave_space_for_others() {
    let recording = Recording::start();
    let renamed = Track::with_id("renamed", 1 << 40);
    let id = std::thread::spawn(move || {
        for number in 0..20_000 {
            trace_thread_name!(format!("request {number}"));
            Track::with_id(format!("renamed {number}"), 1 << 40);
        }
        Track::new("late track");
        this_thread()
    });
    let id = id.join().unwrap();
    trace_process_name!("named late");
    let records = recording.end();
    let last = |text: &str| lines(&records, text).pop().unwrap();
    assert!(last(&format!("kernel 2 {id:#x} ")).contains(" request 19999 "));
    assert!(last(&format!("kernel 2 {:#x} ", renamed.koid())).contains(" renamed 19999 "));
    assert_eq!(lines(&records, " late track ").len(), 1);
    assert!(last("kernel 1 ").contains(" named late"));
    assert!(lines(&records, "names dropped").is_empty());
}

/// Names that exceed the space are counted, and leave space for strings.
#[test]
fn names_without_space_are_counted() {
    let recording = Recording::with(|builder| builder.streaming().buffer_size(256 << 10));
    let (named, name) = (400, "ä".repeat(400));
    for _ in 0..named {
        let name = name.clone();
        std::thread::spawn(move || trace_thread_name!(name)).join().unwrap();
    }
    let records = recording.end();
    let written = lines(&records, &name).len();
    assert!((20..named).contains(&written), "{written}");
    let dropped = lines(&records, "trace/names dropped");
    let [dropped] = dropped.as_slice() else { panic!("{dropped:?}") };
    let (_, number) = dropped.split_once("number=").unwrap();
    let number: usize = number.parse().unwrap();
    // Threads of other tests may have lost their names too.
    assert!((named..=named + 10).contains(&(number + written)), "{number} {written}");
}
