//! A runtime that keeps the records of each thread as text. It shows the effect of an expansion
//! without a session, a buffer or a reader. Its macros accept only the forms that `#[trace_fn]`
//! emits; its types are those of the real runtime.

use std::cell::RefCell;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub(crate) use trace_runtime::__attribute;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Adds a line. Tests add lines too.
pub(crate) fn note(line: impl Into<String>) {
    LOG.with_borrow_mut(|log| log.push(line.into()));
}

/// Calls a function, and returns its result and records.
pub(crate) fn recorded<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    LOG.take();
    let result = call();
    (result, LOG.take())
}

/// Polls a future until it is ready.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    let mut future = Box::pin(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

/// Is ready at the second poll.
pub(crate) async fn yielded() {
    let mut polled = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut polled, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Adds a line when it is dropped.
#[derive(Debug)]
pub(crate) struct Noisy(pub(crate) &'static str);

impl Drop for Noisy {
    fn drop(&mut self) {
        note(format!("drop {}", self.0));
    }
}

/// Ends its scope when dropped.
pub(crate) struct Scope(String);

impl Scope {
    pub(crate) fn begin(category: &str, name: String, arguments: &[(&str, String)]) -> Self {
        note(line("begin", category, &name, arguments));
        Scope(name)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        note(format!("end {}", self.0));
    }
}

/// A value as it is recorded.
pub(crate) fn shown(value: impl Debug) -> String {
    format!("{value:?}")
}

fn line(what: &str, category: &str, name: &str, arguments: &[(&str, String)]) -> String {
    let mut line = format!("{what} {category} {name}");
    for (key, value) in arguments {
        if value != "Omitted" {
            line.push_str(&format!(" {key}={value}"));
        }
    }
    line
}

pub(crate) fn event(what: &str, category: &str, name: &str, arguments: &[(&str, String)]) {
    note(line(what, category, name, arguments));
}

/// The last segment of a path that the compiler did not generate.
pub(crate) fn last_name(path: &str) -> String {
    let mut names = path.rsplit("::").skip(1).filter(|name| !name.starts_with("{{"));
    names.next().unwrap_or("").to_string()
}

pub(crate) mod __private {
    use super::*;

    /// A task: its name, and its category if it begins with its first poll.
    pub(crate) struct Task(pub(crate) String, pub(crate) Option<&'static str>);

    pub(crate) struct TraceFuture<F>(Pin<Box<F>>, Task);

    impl<F> TraceFuture<F> {
        pub(crate) fn begun(task: Task, future: F) -> Self {
            TraceFuture(Box::pin(future), task)
        }
    }

    impl<F: Future> Future for TraceFuture<F> {
        type Output = F::Output;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            if let Some(category) = self.1 .1.take() {
                event("task", category, &self.1 .0, &[]);
            }
            note(format!("poll {}", self.1 .0));
            let polled = self.0.as_mut().poll(context);
            note(format!("{} {}", if polled.is_ready() { "ready" } else { "pending" }, self.1 .0));
            polled
        }
    }
}

macro_rules! __trace_category {
    () => {
        "default"
    };
}

macro_rules! __trace_name {
    ($name:literal) => {
        $name.to_string()
    };
}

macro_rules! __trace_function_name {
    () => {{
        struct Here;
        $crate::fake::last_name(std::any::type_name::<Here>())
    }};
}

macro_rules! __trace_fn_begin {
    (($category:expr, $name:expr) $(, $key:literal => $value:expr)*) => {
        $crate::fake::Scope::begin($category, $name, &[$(($key, $crate::fake::shown(trace_runtime::ArgValue::arg(&$value)))),*])
    };
}

macro_rules! __trace_task_begin {
    (($category:expr, $name:expr) $(, $key:literal => $value:expr)*) => {{
        let name = $name;
        $crate::fake::event("task", $category, &name, &[$(($key, $crate::fake::shown(trace_runtime::ArgValue::arg(&$value)))),*]);
        $crate::fake::__private::Task(name, None)
    }};
}

macro_rules! __trace_task_make {
    (($category:expr, $name:expr)) => {
        $crate::fake::__private::Task($name, Some($category))
    };
}

macro_rules! __trace_fn_flow {
    ($event:ident, $category:expr, $id:expr) => {
        $crate::fake::event(
            stringify!($event),
            $category,
            "flow",
            &[(
                "id",
                $crate::fake::shown({
                    let id: u64 = $id;
                    id
                }),
            )],
        )
    };
}

macro_rules! __trace_fn_flow_id {
    ($category:expr, $id:expr) => {{
        let id: u64 = $id;
        $crate::fake::event("flow id", $category, "", &[]);
        Some(id)
    }};
}

macro_rules! __trace_fn_flow_later {
    ($event:ident, $category:expr, $id:expr) => {
        if let Some(id) = $id {
            $crate::fake::__trace_fn_flow!($event, $category, id)
        }
    };
}

macro_rules! __trace_fn_result {
    (ret, $category:expr, $result:expr) => {
        $crate::fake::instant!($category, "return", "value", &$result)
    };
    (err, $category:expr, $result:expr) => {
        if let Err(error) = $crate::fake::__attribute::outcome(&$result) {
            $crate::fake::instant!($category, "error", "error", error)
        }
    };
    (both, $category:expr, $result:expr) => {
        match $crate::fake::__attribute::outcome(&$result) {
            Ok(value) => $crate::fake::instant!($category, "return", "value", value),
            Err(error) => $crate::fake::instant!($category, "error", "error", error),
        }
    };
}

macro_rules! instant {
    ($category:expr, $name:literal, $key:literal, $value:expr) => {
        $crate::fake::event(
            "instant",
            $category,
            $name,
            &[(
                $key,
                $crate::fake::shown(trace_runtime::ArgValue::arg(
                    &$crate::fake::__attribute::required($value).__trace_value(),
                )),
            )],
        )
    };
}

pub(crate) use {
    __trace_category, __trace_fn_begin, __trace_fn_flow, __trace_fn_flow_id, __trace_fn_flow_later,
    __trace_fn_result, __trace_function_name, __trace_name, __trace_task_begin, __trace_task_make,
    instant,
};
