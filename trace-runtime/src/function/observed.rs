//! A future whose first poll and whose output somebody is told of.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Calls `before` when `future` is polled first, and `after` with what it gives.
pub fn observed<F, B, A>(future: F, before: B, after: A) -> Observed<F, B, A>
where
    F: Future,
    B: FnOnce(),
    A: FnOnce(&F::Output),
{
    Observed { future, before: Some(before), after: Some(after) }
}

/// The future that [`observed`] makes. Of its parts only `future` is pinned.
#[derive(Debug)]
pub struct Observed<F, B, A> {
    future: F,
    before: Option<B>,
    after: Option<A>,
}

// The two others are moved out of their `Option`s and so must not have been pinned; whether they
// are `Unpin` is no matter then.
impl<F: Unpin, B, A> Unpin for Observed<F, B, A> {}

impl<F, B, A> Future for Observed<F, B, A>
where
    F: Future,
    B: FnOnce(),
    A: FnOnce(&F::Output),
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future`, the one part that is pinned, is not moved out of below; and this type
        // has no `Drop`.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(before) = this.before.take() {
            before();
        }
        // SAFETY: it is part of what is pinned, and stays where it is until it is dropped there.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let polled = future.poll(context);
        if let Poll::Ready(output) = &polled {
            if let Some(after) = this.after.take() {
                after(output);
            }
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::task::Waker;

    use super::*;

    #[test]
    fn begin_and_output_are_told_once() {
        let told = RefCell::new(Vec::new());
        let mut polls = 0;
        let future = std::future::poll_fn(|_| {
            polls += 1;
            if polls < 3 {
                Poll::Pending
            } else {
                Poll::Ready(polls)
            }
        });
        let mut future = observed(
            future,
            || told.borrow_mut().push(0),
            |output| told.borrow_mut().push(*output),
        );
        let mut context = Context::from_waker(Waker::noop());
        while Pin::new(&mut future).poll(&mut context).is_pending() {
            assert_eq!(*told.borrow(), [0]);
        }
        assert_eq!(*told.borrow(), [0, 3]);
    }
}
