//! Tails whose temporaries borrow from locals: before this edition they do not compile.

use std::cell::RefCell;
use std::future::{ready, Future};
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};

use trace_runtime::trace_fn;

fn ready_at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("not ready"),
    }
}

#[trace_fn]
async fn awaited() -> usize {
    let local = RefCell::new(1);
    *local.borrow()
}

#[trace_fn(ret)]
async fn awaited_and_recorded() -> usize {
    let local = RefCell::new(2);
    *local.borrow()
}

#[trace_fn]
fn called() -> usize {
    let local = RefCell::new(3);
    *local.borrow()
}

#[trace_fn(ret)]
fn called_and_recorded() -> usize {
    let local = RefCell::new(4);
    *local.borrow()
}

#[trace_fn]
fn returned() -> impl Future<Output = usize> {
    let local = RefCell::new(5);
    ready(*local.borrow())
}

#[trace_fn]
fn boxed() -> Pin<Box<dyn Future<Output = usize>>> {
    let local = RefCell::new(6);
    Box::pin(ready(*local.borrow()))
}

#[trace_runtime::ntrace::trace_fn(ret)]
async fn untraced() -> usize {
    let local = RefCell::new(7);
    *local.borrow()
}

#[test]
fn tails_may_borrow_from_locals() {
    assert_eq!(ready_at_once(awaited()), 1);
    assert_eq!(ready_at_once(awaited_and_recorded()), 2);
    assert_eq!(called(), 3);
    assert_eq!(called_and_recorded(), 4);
    assert_eq!(ready_at_once(returned()), 5);
    assert_eq!(ready_at_once(boxed()), 6);
    assert_eq!(ready_at_once(untraced()), 7);
}
