//! Tracing async code: how to use it, and which records it writes.
//!
//! A future may be polled on different threads, and runs on none between two polls. A duration held
//! across an `.await` would show its thread busy all that time. The guard of
//! [`trace_duration!`](crate::trace_duration) is therefore not [`Send`]. Between two `.await`s, use
//! it as usual. For anything longer, use [`TraceFutureExt::trace`]:
//!
//! ```
//! use trace_runtime::{trace_future_args, TraceFutureExt};
//!
//! async fn fetch(url: String) -> usize {
//!     // …
//!     url.len()
//! }
//!
//! # fn spawn<F: std::future::Future + Send + 'static>(_: F) {}
//! let url = String::from("/index.html");
//! spawn(fetch(url.clone()).trace(trace_future_args!("net", "fetch", "url" => url)));
//! ```
//!
//! `#[trace_fn]` does the same for each call of an `async fn`, or of a function that returns a
//! future.
//!
//! It works with any executor, in `select!` and `join!`, and in sets of tasks. The future may be
//! dropped at any time.
//!
//! # Records
//!
//! Each traced future is a *task* with its own id. Its records show the polls on their threads, and
//! the life of the task:
//!
//! | record | contents |
//! |---|---|
//! | async begin | the time of the task's first poll; your arguments, and `parent`, the id of the parent task |
//! | duration, for each poll | its thread and time; `task`, the task's id; `poll-count`, from 1; `poll-state`: `pending`, `ready` or `panicked`, or `running` if the poll did not end |
//! | flow, if there is more than one poll | an arrow from each poll to the next |
//! | async end | the time of the task's end; `state`: `ready`, `cancelled` (dropped before it was ready) or `panicked` |
//!
//! All of them have your category and name, and the task's id. A viewer shows the polls on their
//! threads, joined by arrows, and a track for each task with its wall-clock time. A future that is
//! never polled is not recorded.
//!
//! There is one exception. A function with `#[trace_fn(args…)]` that returns a future, and is not
//! an `async fn`, has its arguments only during the call. Its task begins then.
//!
//! A condition on durations (`trace record --trigger`) is compared with the time from async begin
//! to async end, at the end, and not with those of polls.
//!
//! The parent is the task whose poll calls `trace`. If no task does, it is the task that polls the
//! future first. So children of `join!` and `select!` have a parent. A spawned task has one if
//! `trace` is called before the spawn: `spawn(child().trace(…))`. With `#[trace_fn] async fn
//! child()` and `spawn(child())` it has none: the attribute's code runs when the executor first
//! polls the function, outside of any task.
//!
//! If a recording begins during a task's life, the task is shown from its next poll on. While the
//! category is not recorded, a poll costs one load and a branch, and arguments are not evaluated.

#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
pub use crate::untraced_future::{TraceFuture, TraceFutureArgs, TraceFutureExt};

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod arguments;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod bridged;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod current;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[allow(unsafe_code)]
mod future;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod handle;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod life;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod poll;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub(crate) mod records;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[allow(unsafe_code)]
pub(crate) mod strings;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use arguments::TraceFutureArgs;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[doc(hidden)]
pub use arguments::{value, BothStored, NameStored};
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[doc(hidden)]
pub use bridged::{enter_span, leave_span, polled_task, recording, set_span_ids, OuterTask};
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use future::{TraceFuture, TraceFutureExt};
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[doc(hidden)]
pub use handle::{begin, Task};
