//! A program that is built with sleds, and has scopes of its own: generic functions of their
//! library are compiled in it.

use std::fmt;
use std::hint::black_box;

use trace_runtime::{trace_duration, trace_fn};

struct Item(u64);

trait Double {
    fn double(&self) -> u64;
}

impl Item {
    #[inline(never)]
    fn new(value: u64) -> Self {
        trace_duration!("app", "create", "value" => value);
        Self(black_box(value))
    }
}

impl Double for Item {
    #[inline(never)]
    #[trace_fn]
    fn double(&self) -> u64 {
        trace_duration!("app", "double");
        black_box(2 * self.0)
    }
}

impl fmt::Display for Item {
    #[inline(never)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        trace_duration!("app", "format", "text" => "a text", "value" => self.0);
        write!(f, "{}", self.double())
    }
}

fn main() {
    let _trace = trace_runtime::init();
    let sum = (0..100).map(|value| Item::new(value).to_string().len()).sum::<usize>();
    println!("{sum}");
}
