//! Panics, destructors, and the time before and after `main`.

use crate::harness::{subject, Archive, Provider, Run, Session, Shape};

/// Checks the events of `unwind` that are traced in each way of ending.
fn check(provider: &Provider) {
    assert_eq!(provider.lost(), 0);
    for scope in ["outer", "inner", "drop scope"] {
        assert!(
            provider.named(scope).all(|event| matches!(event.shape, Shape::Complete(_))),
            "{scope} has ended"
        );
    }
    assert_eq!((provider.count("outer"), provider.count("inner")), (1, 1));
    assert_eq!(provider.count("after catching"), 1);
    assert_eq!(provider.count("dropped while unwinding"), 1);
    assert_eq!(provider.count("thread"), 1);
    assert_eq!(
        provider.count("thread local"),
        2,
        "including a thread whose first event is in its destructor"
    );
    assert_eq!(provider.count("key destructor"), 2);
    assert_eq!(provider.count("drop scope"), 3);
    for never in ["no provider yet", "after the guard", "scope after the guard"] {
        assert_eq!(provider.count(never), 0, "{never}");
    }
    let inner = provider.named("inner").next().unwrap();
    let outer = provider.named("outer").next().unwrap();
    let (Shape::Complete(inner_end), Shape::Complete(outer_end)) = (inner.shape, outer.shape)
    else {
        unreachable!()
    };
    assert!(outer.ticks <= inner.ticks && inner_end <= outer_end, "they are nested");
}

fn run(variables: &[&str]) -> Archive {
    let session = Session::start("streaming", 1 << 20);
    let mut unwind = session.subject(&["unwind"]);
    unwind.envs(variables.iter().map(|name| (name, "1")));
    let run = Run::of(&mut unwind);
    assert_eq!(run.code(), 0, "{run:?}");
    session.end().0
}

#[test]
fn unwinding_and_destructors_of_threads_are_traced() {
    let archive = run(&[]);
    check(archive.only());
    assert_eq!(
        archive.only().count("registered after init"),
        1,
        "the provider continues until the end of the process"
    );
    assert_eq!(
        archive.only().count("registered before init"),
        0,
        "and has ended when these are called"
    );
}

#[test]
fn events_after_the_guard_are_not_traced_and_do_no_harm() {
    let archive = run(&["DROP_GUARD"]);
    check(archive.only());
    assert_eq!(archive.only().count("registered after init"), 0);
}

#[test]
fn a_provider_that_begins_before_main_is_traced_from_there_on() {
    let archive = run(&["INIT_BEFORE_MAIN"]);
    check(archive.only());
    assert_eq!(archive.only().count("before main"), 1);
}

#[test]
fn unwinding_and_destructors_are_traced_without_a_manager() {
    let directory = tempfile::tempdir().unwrap();
    for variable in ["NOTHING", "DROP_GUARD", "INIT_BEFORE_MAIN"] {
        let output = directory.path().join(variable);
        let run = Run::of(subject(&["unwind"]).env("TRACE_OUTPUT", &output).env(variable, "1"));
        assert_eq!(run.code(), 0, "{run:?}");
        check(Archive::read(&output).only());
    }
}
