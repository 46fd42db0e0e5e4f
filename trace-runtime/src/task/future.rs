//! The future that is traced.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::arguments::{Stored, TraceFutureArgs, Values};
use super::handle::Task;
use crate::point::names::Literal;

/// Traces futures: for any [`Future`], by any executor.
pub trait TraceFutureExt: Future + Sized {
    /// Records the future's polls, and the time from the first of them to the future's end. See
    /// [`task`](crate::task).
    ///
    /// ```
    /// use trace_runtime::{trace_future_args, TraceFutureExt};
    ///
    /// let answer = async { 42 }.trace(trace_future_args!("app", "question", "number" => 7u64));
    /// # let _ = answer;
    /// ```
    ///
    /// A future that has to be `Send` cannot hold a scope across an `.await`; this is what to use
    /// in place of it:
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
    /// Costs two reads of the clock for each poll while recorded, and one load and a branch while
    /// not. It allocates nothing, and makes the future 56 bytes larger, and by its values.
    fn trace<V>(self, arguments: TraceFutureArgs<V>) -> TraceFuture<Self, V>
    where
        V: Stored,
    {
        TraceFuture { future: self, task: Task::new(arguments) }
    }
}

impl<F: Future> TraceFutureExt for F {}

/// A future that is traced: what [`TraceFutureExt::trace`] makes.
///
/// `V` is what it keeps for its records: the names and arguments that are not literals.
#[must_use = "futures do nothing unless polled"]
pub struct TraceFuture<F, V: Stored = Values<Literal, ()>> {
    /// Dropped before the task is, which so is over last. Pinned where `self` is.
    future: F,
    /// Never pinned.
    task: Task<V>,
}

// The task is never pinned.
impl<F: Unpin, V: Stored> Unpin for TraceFuture<F, V> {}

impl<F> TraceFuture<F> {
    /// The future of a task that is begun, or begins with its first poll.
    #[doc(hidden)]
    #[inline(always)]
    pub fn begun(task: Task, future: F) -> Self {
        Self { future, task }
    }
}

impl<F, V: Stored> TraceFuture<F, V> {
    #[inline(always)]
    fn project(self: Pin<&mut Self>) -> (Pin<&mut F>, &mut Task<V>) {
        // SAFETY: nothing is moved out of what this points to: of the two fields `task` is never
        // pinned, and `future` is pinned below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: `future` is pinned because `self` was: it is reached through here only, is
        // dropped in place since this type has no `Drop` of its own and is not packed, and `self`
        // is `Unpin` only where `F` is.
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
