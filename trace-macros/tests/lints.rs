//! The attribute adds no warning of the compiler or of Clippy's style lints.
//!
//! Compiling this file is the test, together with `cargo clippy --all-targets`.
#![deny(warnings, rust_2018_idioms, clippy::all, clippy::pedantic)]
#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "a test has no documentation")]

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use trace_runtime::trace_fn;

/// A ring.
#[derive(Debug)]
pub struct Ring<T> {
    items: Vec<T>,
}

#[trace_fn(args)]
impl<T: Clone + fmt::Debug> Ring<T> {
    /// An item.
    #[must_use]
    #[trace_fn(args, ret)]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.items.get(index)
    }

    /// An item that can be changed.
    #[trace_fn(err)]
    pub fn get_mut(&mut self, index: usize) -> Result<&mut T, fmt::Error> {
        let item = self.items.get_mut(index).ok_or(fmt::Error)?;
        Ok(item)
    }

    /// Adds an item.
    #[trace_fn(args(item, last = self.items.len()), flow = 1, ret)]
    pub fn push(&mut self, item: &T, _limit: usize) {
        self.items.push(item.clone());
    }

    /// Takes itself apart.
    #[trace_fn(ret, err)]
    pub fn into_items(self, _guard: String, (keep, _): (bool, String)) -> Result<Vec<T>, String> {
        if keep {
            return Err("kept".to_string());
        }
        Ok(self.items)
    }

    /// Waits.
    pub async fn wait(mut self, _guard: String, mut times: u8) -> Vec<T> {
        while times > 0 {
            times -= 1;
            std::future::ready(()).await;
            self.items.pop();
        }
        self.items
    }

    /// Waits and may fail.
    #[trace_fn(args, ret, err, flow_end = 2)]
    pub async fn try_wait(
        &self,
        index: usize,
    ) -> Result<&T, Box<dyn std::error::Error + Send + Sync>> {
        std::future::ready(()).await;
        Ok(self.items.get(index).ok_or("no item")?)
    }

    /// Returns a future.
    #[trace_fn(ret)]
    pub fn future(&self) -> impl Future<Output = usize> + '_ {
        let length = self.items.len();
        async move { length }
    }

    /// Returns a future in one line: lints report unnecessary braces there.
    #[rustfmt::skip]
    pub fn only_future(&self) -> impl Future<Output = usize> + '_ { async move { self.items.len() } }

    /// Returns the length, in one line.
    #[rustfmt::skip]
    #[must_use]
    #[trace_fn(ret)]
    pub fn length(&self) -> usize { self.items.len() }

    /// Waits in one line.
    #[rustfmt::skip]
    pub async fn later(&self) -> usize { std::future::ready(self.items.len()).await }

    /// Returns a boxed future.
    #[must_use]
    #[trace_fn(ret)]
    pub fn boxed<'a>(&'a self, early: bool) -> Pin<Box<dyn Future<Output = usize> + 'a>> {
        Box::pin(async move {
            if early {
                0
            } else {
                self.items.len()
            }
        })
    }

    /// Has items at the start of its body.
    #[must_use]
    pub fn bounded(number: u32) -> u32 {
        const LIMIT: u32 = 3;
        number.min(LIMIT)
    }

    /// Never returns.
    pub fn never() -> ! {
        std::process::abort()
    }
}

#[test]
fn the_functions_work() {
    let mut ring = Ring { items: vec![1] };
    ring.push(&2, 3);
    assert_eq!(ring.get(1), Some(&2));
    assert!(ring.get_mut(7).is_err());
    assert_eq!(Ring::<u8>::bounded(9), 3);
    drop((
        ring.try_wait(0),
        ring.future(),
        ring.only_future(),
        ring.length(),
        ring.later(),
        ring.boxed(true),
    ));
    assert!(!format!("{:?}", Ring::<u8>::never as fn() -> !).is_empty());
    assert!(ring.into_items(String::new(), (true, String::new())).is_err());
    drop(Ring { items: vec![1] }.wait(String::new(), 1));
}
