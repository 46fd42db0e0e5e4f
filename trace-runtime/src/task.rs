//! Async code: what to trace it with, and what is recorded.
//!
//! A future is polled on one thread now and on another one later, and in between it is nowhere. A
//! duration that is held across an `.await` would say that its thread worked all that time; so the
//! guard of [`trace_duration!`](crate::trace_duration) is not [`Send`]. Between two `.await`s it is
//! fine. For what lasts longer there is [`TraceFutureExt::trace`]:
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
//! `#[trace_fn]` does the same for each call of an `async fn`, and of a function that returns a
//! future.
//!
//! It works with any executor, in `select!` and `join!`, and in sets of tasks; dropping the future
//! at any time is fine.
//!
//! # What is recorded
//!
//! One wrapped future is one *task* with an id of its own. From one stream of records come two
//! views:
//!
//! | record | says |
//! |---|---|
//! | async begin | the task's first poll; with your arguments, and `parent`, the id of the task in whose poll it was made |
//! | duration, for each poll | which thread ran it, and how long; with `task`, the task's id, `poll-count`, from 1, and `poll-state`: `pending`, `ready` or `panicked`, or `running` where it did not come to an end |
//! | flow, with more than one poll | an arrow from each poll to the next |
//! | async end | when the task was over; with `state`: `ready`, `cancelled` (dropped before it was ready) or `panicked` |
//!
//! All of them have the category and the name that you give, and the task's id. So a viewer shows
//! the polls on their threads, joined by arrows, and a track for each task with its wall-clock
//! time. A future that is never polled leaves nothing. One exception: a function with
//! `#[trace_fn(args…)]` that returns a future, and is no `async fn`, has its arguments only when it
//! is called; its task begins then.
//!
//! The parent is the task in whose poll `trace` was called, or, where that was in none, the one in
//! whose poll it is polled first. So children of `join!` and `select!` have one, and so has what a
//! task spawns, if it calls `trace` before it spawns: `spawn(child().trace(…))`. With `#[trace_fn]
//! async fn child()` and `spawn(child())` there is none: the attribute's code runs when the
//! executor polls the function first, outside of any task.
//!
//! A recording that begins in the middle of a task's life shows the task from its next poll on.
//! Where nothing is recorded, or not the category, a poll costs one load and a branch; arguments
//! are then not evaluated.

#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
pub use crate::ntrace::{TraceFuture, TraceFutureArgs, TraceFutureExt};

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod arguments;
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
mod records;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[allow(unsafe_code)]
mod strings;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use arguments::TraceFutureArgs;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[doc(hidden)]
pub use arguments::{value, BothStored, NameStored};
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use future::{TraceFuture, TraceFutureExt};
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[doc(hidden)]
pub use handle::{begin, Task};
