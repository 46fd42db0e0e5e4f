//! Futures, with tracing compiled out.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The method `trace` on every [`Future`], which does not trace it.
pub trait TraceFutureExt: Future + Sized {
    /// Returns the future without tracing. The arguments are not evaluated.
    fn trace<V>(self, _arguments: TraceFutureArgs<V>) -> TraceFuture<Self, V> {
        TraceFuture { future: self, _values: PhantomData }
    }
}

impl<F: Future> TraceFutureExt for F {}

/// The result of [`trace_future_args!`](crate::ntrace::trace_future_args). It is empty.
#[derive(Debug)]
pub struct TraceFutureArgs<V>(PhantomData<V>);

impl TraceFutureArgs<()> {
    /// Returns no arguments.
    #[doc(hidden)]
    #[inline(always)]
    pub fn none() -> Self {
        Self(PhantomData)
    }
}

/// A future that is not traced.
#[must_use = "futures do nothing unless polled"]
pub struct TraceFuture<F, V = ()> {
    /// Pinned if `self` is.
    future: F,
    _values: PhantomData<V>,
}

impl<F: Unpin, V> Unpin for TraceFuture<F, V> {}

impl<F: Future, V> Future for TraceFuture<F, V> {
    type Output = F::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with `self`: it is accessed only here, it is dropped in place
        // because this type has no `Drop` and is not packed, and `self` is `Unpin` only if `F` is.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        future.poll(context)
    }
}

impl<F, V> fmt::Debug for TraceFuture<F, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFuture").finish_non_exhaustive()
    }
}
