//! The traced future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::arguments::{Stored, TraceFutureArgs, Values};
use super::handle::Task;
use crate::point::names::Literal;

/// Tracing of futures: the method `trace` for any [`Future`] with any executor.
pub trait TraceFutureExt: Future + Sized {
    /// Records the future's polls, and its life from the first poll to the end. See
    /// [`task`](crate::task).
    ///
    /// ```
    /// use trace_runtime::{trace_future_args, TraceFutureExt};
    ///
    /// let answer = async { 42 }.trace(trace_future_args!("app", "question", "number" => 7u64));
    /// # let _ = answer;
    /// ```
    ///
    /// A future that must be `Send` cannot hold a scope across an `.await`:
    ///
    /// ```compile_fail,E0277
    /// # fn spawn<F: Send>(_: F) {}
    /// # async fn something() {}
    /// spawn(async {
    ///     trace_runtime::trace_duration!("app", "work");
    ///     something().await;
    /// });
    /// ```
    ///
    /// ```
    /// # use trace_runtime::{trace_future_args, TraceFutureExt};
    /// # fn spawn<F: Send>(_: F) {}
    /// # async fn something() {}
    /// spawn(async { something().await }.trace(trace_future_args!("app", "work")));
    /// ```
    ///
    /// Costs two clock reads a poll while the category is recorded, else one load and a branch.
    /// Does not allocate. The future grows by 64 bytes and the size of the arguments.
    fn trace<V>(self, arguments: TraceFutureArgs<V>) -> TraceFuture<Self, V>
    where
        V: Stored,
    {
        TraceFuture { future: self, task: Task::new(arguments) }
    }
}

impl<F: Future> TraceFutureExt for F {}

/// A traced future: the result of [`TraceFutureExt::trace`].
///
/// `V` holds the names and arguments that are not literals.
#[must_use = "futures do nothing unless polled"]
pub struct TraceFuture<F, V: Stored = Values<Literal, ()>> {
    /// Dropped before `task`, so the task ends last. Pinned if `self` is.
    future: F,
    /// Never pinned.
    task: Task<V>,
}

// The task is never pinned.
impl<F: Unpin, V: Stored> Unpin for TraceFuture<F, V> {}

impl<F> TraceFuture<F> {
    /// Returns the future of a task that has begun, or that begins with its first poll.
    #[doc(hidden)]
    #[inline(always)]
    pub fn begun(task: Task, future: F) -> Self {
        Self { future, task }
    }
}

impl<F, V: Stored> TraceFuture<F, V> {
    #[inline(always)]
    fn project(self: Pin<&mut Self>) -> (Pin<&mut F>, &mut Task<V>) {
        // SAFETY: `task` is never pinned, and `future` is not moved but pinned below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: `future` is pinned with `self`: it is accessed only here, it is dropped in place
        // because this type has no `Drop` and is not packed, and `self` is `Unpin` only if `F` is.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        (future, &mut this.task)
    }
}

impl<F: Future, V: Stored> Future for TraceFuture<F, V> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let (future, task) = self.project();
        if !task.is_on() {
            return future.poll(context);
        }
        let running = task.enter();
        let result = future.poll(context);
        if let Some(running) = running {
            running.leave(result.is_ready());
        }
        result
    }
}

impl<F, V: Stored> fmt::Debug for TraceFuture<F, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFuture").field("task", &self.task).finish_non_exhaustive()
    }
}
