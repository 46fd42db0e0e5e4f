//! Tracing compiled out: for a module, or, with the feature, for the program.
#![allow(clippy::assertions_on_constants, reason = "the test asserts that they are constant")]

/// A module that is not traced, with or without the feature.
mod quiet {
    use std::cell::Cell;

    use trace_runtime::ntrace::*;
    use trace_runtime::{BlobType, InstantScope, ObjectType, TraceState};

    trace_category!("quiet", "not recorded");

    #[cfg_attr(feature = "attributes", trace_fn(category = "quiet", args(value, next = value + 1)))]
    fn function(value: u64) -> u64 {
        value
    }

    #[test]
    fn run_time_trace_points_are_off() {
        let point = context::TracePoint::new(context::EventType::Instant, "quiet", "point", &["a"]);
        assert!(!point.is_on());
        point.write(&[context::Value::Uint64(1)], &[context::scope(InstantScope::Process)]);
        assert!(context::Context::acquire().is_none());
    }

    #[test]
    fn arguments_are_type_checked_but_not_evaluated() {
        let evaluated = Cell::new(0);
        let count = || {
            evaluated.set(evaluated.get() + 1);
            1u64
        };
        let _trace = init();
        trace_duration!("quiet", "duration", "a" => count());
        trace_duration!("quiet", format!("name {}", count()), "a" => count());
        trace_duration_begin!("quiet", "begin", "a" => count());
        trace_duration_end!("quiet", "begin");
        trace_instant!("quiet", "instant", InstantScope::Global, "a" => count());
        trace_counter!("quiet", "counter", count(), "a" => count());
        trace_async_begin!("quiet", "async", count());
        trace_async_instant!("quiet", "async", count());
        trace_async_end!("quiet", "async", count());
        trace_flow_begin!("quiet", "flow", count());
        trace_flow_step!("quiet", "flow", count());
        trace_flow_end!("quiet", "flow", count());
        drop(trace_async_enter!("quiet", "async", count(), "a" => count()));
        let point = 7;
        trace_instant!("quiet", "text", "a" => ?count(), "b" => %point);
        trace_async_begin!("quiet", "text", count(), "a" => %count());
        trace_userspace_object!(&raw const point, "text", "a" => ?count());
        let track = Track::new("quiet");
        let at = |ticks| Timestamp::from_ticks(ticks);
        trace_at!(at(count()), instant("quiet", "instant", "a" => count()));
        trace_at!(at(count())..at(2), duration_complete("quiet", "complete", "a" => count()));
        trace_at!(std::time::Instant::now(), counter("quiet", "counter", count(), "a" => count()));
        trace_track!(track, duration("quiet", "scope", "a" => count()));
        trace_track!(&track, instant("quiet", "instant", InstantScope::Process, "a" => count()));
        trace_track!(track, at at(count()), async_begin("quiet", "async", count()));
        trace_track!(track, at at(count())..at(3), duration_complete("quiet", "complete"));
        trace_instaflow_begin!("quiet", "flow", format!("step {}", count()), count(), "a" => count());
        trace_instaflow_step!("quiet", "flow", "step", count());
        trace_instaflow_end!("quiet", "flow", "step", count());
        trace_thread_name!(format!("name {}", count()));
        trace_process_name!("name");
        trace_blob!(BlobType::DATA, "blob", [count() as u8]);
        trace_blob_event!("quiet", "blob", vec![count() as u8], "a" => count());
        trace_blob_attachment!(format!("quiet {}", count()), "blob", "text");
        trace_userspace_object!(&raw const evaluated, "object", "a" => count());
        trace_kernel_object!(count(), ObjectType(100), format!("object {}", count()));
        trace_log!("quiet", "{} {evaluated:?}", count());
        let owned = String::from("moved");
        drop(
            std::future::ready(1)
                .trace(trace_future_args!("quiet", "future", "a" => count(), "b" => owned)),
        );
        drop(std::future::ready(1).trace(trace_future_args!("quiet", format!("{}", count()))));
        let _observer = observe(|_| panic!("an observer is called"));
        assert_eq!(trace_state(), TraceState::Stopped);
        trace_alert!("quiet");
        trace_alert!("quiet", "alert");
        assert!(!raise_alert("quiet"));
        assert!(!trace_enabled!());
        assert!(!trace_category_enabled!("quiet"));
        assert_eq!(trace_nonce!(), 0);
        assert_eq!(function(3), 3);
        assert_eq!(evaluated.get(), 0);
    }
}

/// A future that is not traced has no extra size.
#[test]
fn futures_do_not_grow() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};
    use trace_runtime::ntrace::{trace_future_args, TraceFutureExt};
    let number = 7u64;
    let future = Box::pin(std::future::ready(number));
    let size = size_of_val(&future);
    let mut future = future.trace(trace_future_args!("quiet", "future", "number" => number));
    assert_eq!(size_of_val(&future), size);
    let polled = std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(7));
}

/// With the feature there is no provider: no thread is started, and no file created.
#[test]
#[cfg(feature = "ntrace")]
fn no_provider_exists() {
    let output = std::env::temp_dir().join(format!("ntrace-{}.fxt", std::process::id()));
    let trace = trace_runtime::builder().name("quiet").categories(["*"]).output(&output).init();
    assert_eq!(threads_of_the_runtime(), 0);
    trace_runtime::trace_duration!("quiet", "duration");
    assert!(!trace_runtime::trace_enabled!());
    drop(trace);
    assert!(!output.exists());
    assert_eq!(size_of::<trace_runtime::Trace>(), 0);
}

/// Returns the number of threads with names of the runtime. The test runner has threads too.
#[cfg(feature = "ntrace")]
fn threads_of_the_runtime() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("trace-")).count()
}

/// The attribute in every form, compiled out: the functions do not change.
#[cfg(feature = "attributes")]
mod attribute {
    use std::fmt::Debug;
    use std::future::Future;
    use std::pin::{pin, Pin};
    use std::task::{Context, Poll, Waker};

    use trace_runtime::ntrace::trace_fn;

    fn not_evaluated() -> u64 {
        unreachable!("arguments are not evaluated")
    }

    #[trace_fn(category = "quiet")]
    mod functions {
        use super::{not_evaluated, Debug, Future, Pin};

        #[super::trace_fn(args(text, at = not_evaluated()), flow = not_evaluated(), ret)]
        pub(super) fn first<'a>(text: &'a str, list: &mut Vec<&'a str>) -> Option<&'a str> {
            list.push(text);
            list.first().copied()
        }

        #[super::trace_fn(args, err)]
        pub(super) fn parse<T: Debug>(
            _unused: T,
            text: &str,
        ) -> Result<u8, std::num::ParseIntError> {
            Ok(text.parse::<u8>()? + 1)
        }

        #[super::trace_fn(args, ret, err, flow_begin = not_evaluated())]
        pub(super) async fn parsed(text: String) -> Result<u8, String> {
            parse((), &text).map_err(|error| error.to_string())
        }

        pub(super) fn boxed(number: u8) -> Pin<Box<dyn Future<Output = u8>>> {
            Box::pin(async move { number })
        }

        #[super::trace_fn(ret)]
        pub(super) fn unnamed(list: &[u32]) -> impl Iterator<Item = &u32> + Clone + Debug {
            list.iter()
        }

        #[super::trace_fn(ret)]
        pub(super) async fn unnamed_later() -> Option<impl Debug> {
            Some(3)
        }

        #[super::trace_fn(ret, err)]
        pub(super) fn unnamed_within() -> Result<impl Iterator<Item = u8> + Debug, String> {
            Ok([1].into_iter())
        }

        pub(super) const fn two() -> u8 {
            2
        }
    }

    fn run<F: Future>(future: F) -> F::Output {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => unreachable!("no future waits"),
        }
    }

    #[test]
    fn functions_do_not_change() {
        assert_eq!(functions::first("b", &mut vec!["a"]), Some("a"));
        assert_eq!(functions::parse((), "1"), Ok(2));
        assert!(run(functions::parsed("x".to_string())).is_err());
        assert_eq!(run(functions::boxed(functions::two())), 2);
        assert_eq!(functions::unnamed(&[1, 2]).count(), 2);
        assert!(run(functions::unnamed_later()).is_some());
        assert_eq!(functions::unnamed_within().map(Iterator::count), Ok(1));
    }
}

/// `trace record` reports why nothing was recorded.
#[test]
#[cfg(target_os = "linux")]
fn a_program_without_tracing_has_the_mark() {
    let _trace = trace_runtime::init();
    let program = std::fs::read("/proc/self/exe").unwrap();
    let mark = trace_protocol::ntrace::mark();
    let has_mark = program.windows(mark.len()).any(|bytes| bytes == mark);
    assert_eq!(has_mark, cfg!(feature = "ntrace"));
}
