//! What wakes up a thread.

use serde_json::Map;
use trace_format::{Argument, Arguments, Item, Value};

use crate::arguments;

/// The argument with the thread that woke up another one.
const WAKER: &str = "waker";

/// The argument with the kind of an interrupt that woke up a thread.
const INTERRUPT: &str = "interrupt";

/// The argument with the thread that the CPU of the interrupt ran.
const INTERRUPTED: &str = "interrupted";

/// The arguments of this module.
pub(super) const NAMES: [&str; 3] = [WAKER, INTERRUPT, INTERRUPTED];

/// A thread or an interrupt that woke up a thread. `T` is a thread, by default its koid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waker<T = u64> {
    /// A thread.
    Thread(T),
    /// An interrupt.
    Interrupt {
        /// Its kind.
        kind: InterruptKind,
        /// The thread that the CPU ran, or `None` if that was idle. It is not the cause of a hard
        /// interrupt, and can be that of a soft one.
        interrupted: Option<T>,
    },
}

/// A kind of interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptKind {
    /// An interrupt of a device or a timer.
    Hard,
    /// Deferred work, of an interrupt or of a system call of the interrupted thread.
    Soft,
}

impl InterruptKind {
    /// Returns its name in records and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }
}

impl Waker {
    /// Returns the waker in the arguments of a wake-up, or `None` if it is unknown.
    #[must_use]
    pub fn of(item: &Item<'_>, arguments: &Arguments<'_>) -> Option<Self> {
        let koid = |name| {
            arguments::named(item, arguments, name).find_map(|value| match value {
                Value::Koid(koid) => Some(koid),
                _ => None,
            })
        };
        let kind = arguments::named(item, arguments, INTERRUPT).find_map(|value| match value {
            Value::String(text) if item.text(text) == "hard" => Some(InterruptKind::Hard),
            Value::String(text) if item.text(text) == "soft" => Some(InterruptKind::Soft),
            _ => None,
        });
        match kind {
            Some(kind) => Some(Self::Interrupt { kind, interrupted: koid(INTERRUPTED) }),
            None => koid(WAKER).map(Self::Thread),
        }
    }

    /// Returns the thread that the CPU of the waker ran: the waker, or the interrupted thread.
    #[must_use]
    pub fn thread(self) -> Option<u64> {
        match self {
            Self::Thread(thread) => Some(thread),
            Self::Interrupt { interrupted, .. } => interrupted,
        }
    }

    /// Returns the arguments of a wake-up by this waker.
    #[must_use]
    pub fn arguments(self) -> Vec<Argument<'static>> {
        let kind =
            |kind: InterruptKind| Argument::new(INTERRUPT, Value::String(kind.as_str().into()));
        let koid = |name, koid| Argument::new(name, Value::Koid(koid));
        match self {
            Self::Thread(thread) => vec![koid(WAKER, thread)],
            Self::Interrupt { kind: of, interrupted } => {
                let thread = interrupted.map(|thread| koid(INTERRUPTED, thread));
                [kind(of)].into_iter().chain(thread).collect()
            }
        }
    }
}

impl<T> Waker<T> {
    /// Returns the members of an interrupt in JSON, or none of a thread. `thread` returns the value
    /// of the interrupted thread.
    pub fn interrupt_to_json(
        &self,
        thread: impl Fn(&T) -> serde_json::Value,
    ) -> Map<String, serde_json::Value> {
        match self {
            Self::Thread(_) => Map::new(),
            Self::Interrupt { kind, interrupted } => Map::from_iter([
                (INTERRUPT.to_owned(), kind.as_str().into()),
                (INTERRUPTED.to_owned(), interrupted.as_ref().map(thread).into()),
            ]),
        }
    }

    /// Returns the waker with another value for its thread.
    pub fn map<U>(self, with: impl Fn(T) -> U) -> Waker<U> {
        match self {
            Self::Thread(thread) => Waker::Thread(with(thread)),
            Self::Interrupt { kind, interrupted } => {
                Waker::Interrupt { kind, interrupted: interrupted.map(with) }
            }
        }
    }
}
