//! Functions that are compiled with and without trace points. `tests/machine_code` compares their
//! machine code.
#![allow(unused_variables, dead_code)]

use std::future::Future;
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};

#[cfg(traced)]
use trace_runtime::*;
// The compiler takes generic functions of the standard library from a dependency if one has them.
#[cfg(not(traced))]
use trace_runtime as _;

/// Trace points, or no code.
macro_rules! traced {
    ($($statement:tt)*) => {
        #[cfg(traced)]
        { $($statement)* }
    };
}

/// A side effect, visible if it is evaluated.
#[inline(never)]
#[no_mangle]
pub extern "C" fn side_effect(number: u64) -> u64 {
    std::hint::black_box(number)
}

#[no_mangle]
#[cfg_attr(traced, trace_fn)]
pub fn plain(number: u64) -> u64 {
    #[cfg(changed)]
    std::hint::black_box(number);
    side_effect(number) + 1
}

#[no_mangle]
#[cfg_attr(traced, trace_fn(category = "c", name = "n", args(list, sum = side_effect(3)), flow = side_effect(1)))]
pub fn arguments(list: Vec<u64>, text: &str) -> u64 {
    list.iter().sum::<u64>() + text.len() as u64
}

#[no_mangle]
#[cfg_attr(traced, trace_fn(args, ret, err))]
pub fn result(text: &str, guard: Vec<String>) -> Result<u32, std::num::ParseIntError> {
    let number: u32 = text.parse()?;
    drop(guard);
    Ok(number + 1)
}

#[no_mangle]
#[cfg_attr(traced, trace_fn(args, skip(from)))]
pub unsafe extern "C" fn with_panic(from: *const u8, index: usize) -> u8 {
    let slice = std::slice::from_raw_parts(from, 16);
    slice[index]
}

#[cfg_attr(traced, trace_fn(args, ret))]
fn generic<T: Copy + std::ops::Add<Output = T> + std::fmt::Debug, const N: usize>(
    items: [T; N],
    first: T,
) -> T {
    items.iter().fold(first, |sum, item| sum + *item)
}

pub struct Ring {
    items: Vec<u64>,
}

#[cfg_attr(traced, trace_fn(args))]
impl Ring {
    #[inline(never)]
    pub fn push(&mut self, item: u64) -> &mut u64 {
        self.items.push(item);
        &mut self.items[0]
    }

    #[cfg_attr(traced, trace_fn(ret, err))]
    #[inline(never)]
    pub fn take(mut self, at: usize) -> Result<u64, String> {
        if at >= self.items.len() {
            return Err(format!("there is no item {at}"));
        }
        Ok(self.items.swap_remove(at))
    }

    #[cfg_attr(traced, trace_fn(args, ret, flow_end = side_effect(2)))]
    pub async fn wait(&self, times: usize) -> usize {
        for _ in 0..times {
            Yield(false).await;
        }
        self.items.len() + times
    }

    #[inline(never)]
    pub fn boxed(self, add: u64) -> Pin<Box<dyn Future<Output = u64>>> {
        Box::pin(async move {
            Yield(false).await;
            self.items.len() as u64 + add
        })
    }
}

struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[no_mangle]
pub fn call_generic(left: [u8; 7], right: [u64; 9]) -> u64 {
    u64::from(generic(left, 1)) + generic(right, 2)
}

#[no_mangle]
pub fn poll_all(ring: &Ring, times: usize) -> Option<usize> {
    let mut waiting = pin!(ring.wait(times));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..9 {
        if let Poll::Ready(sum) = waiting.as_mut().poll(&mut context) {
            return Some(sum);
        }
    }
    None
}

#[no_mangle]
pub fn macros(number: u64, text: &str) -> u64 {
    traced! {
        trace_duration!("c", "n", "a" => side_effect(number), "b" => text.to_string());
        trace_duration_begin!("c", "n", "a" => side_effect(number));
        trace_duration_end!("c", "n");
        trace_instant!("c", "n", InstantScope::Process, "a" => side_effect(number));
        trace_instant!("c", format!("{text}"));
        trace_counter!("c", "n", side_effect(number), "a" => side_effect(number));
        trace_async_begin!("c", "n", side_effect(number));
        trace_async_instant!("c", "n", side_effect(number));
        trace_async_end!("c", "n", side_effect(number));
        trace_flow_begin!("c", "n", side_effect(number));
        trace_flow_step!("c", "n", side_effect(number), "a" => text);
        trace_flow_end!("c", "n", side_effect(number));
    }
    #[cfg(traced)]
    trace_duration!("c", "to the end", "a" => side_effect(number));
    side_effect(number) * 2
}
