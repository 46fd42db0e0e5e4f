//! A future that reports its first poll and its output.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Returns a future that calls `before` at its first poll, and `after` with its output.
pub fn observed<F, B, A>(future: F, before: B, after: A) -> Observed<F, B, A>
where
    F: Future,
    B: FnOnce(),
    A: FnOnce(&F::Output),
{
    Observed { future, before: Some(before), after: Some(after) }
}

/// The future that [`observed`] returns. Only the field `future` is pinned.
#[derive(Debug)]
pub struct Observed<F, B, A> {
    future: F,
    before: Option<B>,
    after: Option<A>,
}

// `before` and `after` are never pinned, because they are moved out of their `Option`s. So they
// need not be `Unpin`.
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
        // SAFETY: `future`, the only pinned field, is not moved out of below, and this type has no
        // `Drop`.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(before) = this.before.take() {
            before();
        }
        // SAFETY: `future` is a field of a pinned value, and is neither moved nor dropped
        // elsewhere.
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
    fn first_poll_and_output_are_reported_once() {
        let calls = RefCell::new(Vec::new());
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
            || calls.borrow_mut().push(0),
            |output| calls.borrow_mut().push(*output),
        );
        let mut context = Context::from_waker(Waker::noop());
        while Pin::new(&mut future).poll(&mut context).is_pending() {
            assert_eq!(*calls.borrow(), [0]);
        }
        assert_eq!(*calls.borrow(), [0, 3]);
    }
}
