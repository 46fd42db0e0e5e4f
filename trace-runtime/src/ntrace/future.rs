//! Futures that are not traced.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Takes what futures are traced with, and leaves them as they are.
pub trait TraceFutureExt: Future + Sized {
    /// Polls the future as it is.
    fn trace<V>(self, _arguments: TraceFutureArgs<V>) -> TraceFuture<Self, V> {
        TraceFuture { future: self, _nothing: PhantomData }
    }
}

impl<F: Future> TraceFutureExt for F {}

/// Nothing: what [`trace_future_args!`](crate::ntrace::trace_future_args) makes.
#[derive(Debug)]
pub struct TraceFutureArgs<V>(PhantomData<V>);

impl TraceFutureArgs<()> {
    /// Nothing.
    #[doc(hidden)]
    #[inline(always)]
    pub fn none() -> Self {
        Self(PhantomData)
    }
}

/// A future that is not traced.
#[must_use = "futures do nothing unless polled"]
pub struct TraceFuture<F, V = ()> {
    /// Pinned where `self` is.
    future: F,
    _nothing: PhantomData<V>,
}

impl<F: Unpin, V> Unpin for TraceFuture<F, V> {}

impl<F: Future, V> Future for TraceFuture<F, V> {
    type Output = F::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned because `self` was: it is reached through here only, is
        // dropped in place since this type has no `Drop` of its own and is not packed, and `self`
        // is `Unpin` only where `F` is.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        future.poll(context)
    }
}

impl<F, V> fmt::Debug for TraceFuture<F, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFuture").finish_non_exhaustive()
    }
}
