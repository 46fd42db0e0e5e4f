//! Executors that applications use.

use std::time::Duration;

use futures::future::{join_all, select, Either};
use tokio::task::JoinSet;
use trace_runtime::{trace_future_args, TraceFutureExt};

use crate::Recording;

const A_WHILE: Duration = Duration::from_millis(5);
/// Longer than any test runs.
const LONG: Duration = Duration::from_secs(3600);

fn tokio_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

#[test]
fn tasks_that_tokio_tasks_spawn_are_their_children() {
    let recording = Recording::start();
    tokio_runtime().block_on(
        async {
            let spawned = (0..20u64).map(|number| {
                let child = async move {
                    tokio::time::sleep(A_WHILE).await;
                    tokio::task::yield_now().await;
                };
                tokio::spawn(child.trace(trace_future_args!("test", "child", "number" => number)))
            });
            for child in spawned.collect::<Vec<_>>() {
                child.await.unwrap();
            }
        }
        .trace(trace_future_args!("test", "parent")),
    );
    let tasks = recording.tasks();
    let (parent, children) = (tasks.only("parent"), tasks.named("child"));
    assert_eq!(children.len(), 20);
    for child in children {
        assert_eq!((child.parent, child.state()), (Some(parent.id), "ready"));
        assert!(child.polls.len() >= 2, "it has yielded");
    }
}

#[test]
fn tasks_that_select_drops_are_cancelled() {
    let recording = Recording::start();
    tokio_runtime().block_on(
        async {
            tokio::select! {
                () = tokio::time::sleep(A_WHILE).trace(trace_future_args!("test", "faster")) => {}
                () = tokio::time::sleep(LONG).trace(trace_future_args!("test", "slower")) => panic!("an hour has passed"),
            }
        }
        .trace(trace_future_args!("test", "select")),
    );
    let tasks = recording.tasks();
    let parent = Some(tasks.only("select").id);
    assert_eq!((tasks.only("faster").state(), tasks.only("faster").parent), ("ready", parent));
    assert_eq!((tasks.only("slower").state(), tasks.only("slower").parent), ("cancelled", parent));
}

#[test]
fn tasks_that_join_polls_have_tracks_of_their_own() {
    let recording = Recording::start();
    tokio_runtime().block_on(
        async {
            tokio::join!(
                tokio::time::sleep(A_WHILE).trace(trace_future_args!("test", "one")),
                tokio::time::sleep(2 * A_WHILE).trace(trace_future_args!("test", "other")),
            )
        }
        .trace(trace_future_args!("test", "join")),
    );
    let tasks = recording.tasks();
    let parent = Some(tasks.only("join").id);
    assert_eq!((tasks.only("one").parent, tasks.only("other").parent), (parent, parent));
    assert_eq!(tasks.0.len(), 3);
}

#[test]
fn tasks_of_a_set_end_with_it() {
    let recording = Recording::start();
    tokio_runtime().block_on(async {
        let mut set = JoinSet::new();
        for number in 0..8u64 {
            let sleep = tokio::time::sleep(if number < 4 { A_WHILE } else { LONG });
            set.spawn(sleep.trace(trace_future_args!("test", "member", "number" => number)));
        }
        for _ in 0..4 {
            set.join_next().await.unwrap().unwrap();
        }
        set.shutdown().await;
    });
    for member in recording.tasks().named("member") {
        let expected = if member.numbers["number"] < 4 { "ready" } else { "cancelled" };
        assert_eq!(member.state(), expected);
    }
}

#[test]
fn a_panic_of_a_spawned_task_is_recorded_and_passed_on() {
    let recording = Recording::start();
    tokio_runtime().block_on(async {
        let panics = async {
            tokio::time::sleep(A_WHILE).await;
            std::panic::panic_any("on purpose");
        };
        let result = tokio::spawn(panics.trace(trace_future_args!("test", "panics"))).await;
        let payload = result.unwrap_err().into_panic();
        assert_eq!(*payload.downcast::<&str>().unwrap(), "on purpose");
    });
    let tasks = recording.tasks();
    assert_eq!(tasks.only("panics").state(), "panicked");
    assert_eq!(tasks.only("panics").polls.last().unwrap().state, "panicked");
}

/// async-std uses the executor of smol too.
#[test]
fn smol_polls_traced_futures() {
    let recording = Recording::start();
    smol::block_on(async {
        let spawned = (0..8u64).map(|number| {
            let child = async {
                smol::Timer::after(A_WHILE).await;
                smol::future::yield_now().await;
            };
            smol::spawn(child.trace(trace_future_args!("test", "child", "number" => number)))
        });
        for task in spawned.collect::<Vec<_>>() {
            task.await;
        }
        let cancelled = smol::spawn(
            std::future::pending::<()>().trace(trace_future_args!("test", "cancelled")),
        );
        smol::Timer::after(A_WHILE).await;
        cancelled.cancel().await;
    });
    let tasks = recording.tasks();
    assert_eq!(tasks.named("child").len(), 8);
    assert!(tasks
        .named("child")
        .iter()
        .all(|child| child.state() == "ready" && child.polls.len() >= 2));
    assert!(tasks.named("cancelled").iter().all(|task| task.state() == "cancelled"));
}

#[test]
fn combinators_of_futures_poll_traced_futures() {
    let recording = Recording::start();
    futures::executor::block_on(async {
        let many = (0..5u64)
            .map(|number| async move { number }.trace(trace_future_args!("test", "joined")));
        assert_eq!(join_all(many).await, [0, 1, 2, 3, 4]);
        let never =
            Box::pin(std::future::pending::<()>().trace(trace_future_args!("test", "never")));
        let now = Box::pin(async {}.trace(trace_future_args!("test", "now")));
        assert!(matches!(select(never, now).await, Either::Right(_)));
    });
    let tasks = recording.tasks();
    assert_eq!(tasks.named("joined").len(), 5);
    assert_eq!((tasks.only("never").state(), tasks.only("now").state()), ("cancelled", "ready"));
}
