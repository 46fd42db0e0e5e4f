//! What arguments of scheduling records say by convention.

use trace_format::{Arguments, Item, Value};

use crate::arguments;
use crate::carried::ADDED;

/// The weight that says that a processor is idle.
const IDLE: i64 = i32::MIN as i64;

/// A thread that a processor turns from or to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// 0 if it is none: the processor is idle.
    pub thread: u64,
    /// Of Linux's threads the priority.
    pub weight: Option<i64>,
}

impl Turn {
    /// `name` is that of the argument with the weight.
    pub fn of(item: &Item<'_>, thread: u64, arguments: &Arguments<'_>, name: &str) -> Self {
        let weight = arguments::named(item, arguments, name).find_map(|value| match value {
            Value::Int32(value) => Some(value.into()),
            Value::Uint32(value) => Some(value.into()),
            Value::Int64(value) => Some(value),
            _ => None,
        });
        match weight {
            Some(IDLE) => Self { thread: 0, weight: None },
            weight => Self { thread, weight },
        }
    }
}

/// Returns the thread that woke the other one up, if the record says so.
pub fn waker(item: &Item<'_>, arguments: &Arguments<'_>) -> Option<u64> {
    arguments::named(item, arguments, "waker").find_map(|value| match value {
        Value::Koid(koid) => Some(koid),
        _ => None,
    })
}

/// Tells whether the arguments say more than is said here.
pub fn say_more(item: &Item<'_>, arguments: &Arguments<'_>) -> bool {
    const KNOWN: [&str; 5] = ["outgoing_weight", "incoming_weight", "weight", "waker", ADDED];
    arguments.iter().any(|argument| !KNOWN.contains(&&*item.text(argument.name)))
}
