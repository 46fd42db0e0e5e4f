//! The keys and states of tasks, as strings that every recording registers.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::layout::{argument, ArgumentType, EventType, StringRef};

use crate::point::site::{Key, Name, Site};
use crate::value::sealed::Encode;
use crate::value::{Arg, Limit};

/// The number of a poll's arguments.
const POLL_KEYS: usize = 3;

/// The strings. The values of [`State`] and the functions below are indices into it.
static STRINGS: [Key; 10] = [
    Key::new("task"),
    Key::new("poll-count"),
    Key::new("poll-state"),
    Key::new("parent"),
    Key::new("state"),
    Key::new("running"),
    Key::new("pending"),
    Key::new("ready"),
    Key::new("panicked"),
    Key::new("cancelled"),
];

/// Registers the strings. It is a normal site that writes no records.
#[used]
#[cfg_attr(not(miri), link_section = "trace_sites")]
static SITE: Site = Site::event(EventType::Instant, "", Name::Text(""), &STRINGS);

/// The states of a task and of its polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum State {
    Running = 5,
    Pending = 6,
    Ready = 7,
    Panicked = 8,
    Cancelled = 9,
}

/// Returns whether the strings are registered in the current recording.
#[inline(always)]
pub(super) fn are_registered() -> bool {
    SITE.is_on()
}

/// Returns the keys `task`, `poll-count` and `poll-state`.
#[inline(always)]
pub(super) fn poll_keys() -> &'static [Key] {
    STRINGS.get(..POLL_KEYS).unwrap_or(&[])
}

/// Returns the name field of the key `parent`.
#[inline(always)]
pub(super) fn parent_key() -> u64 {
    STRINGS[3].bits()
}

/// Returns the key `state`.
#[inline(always)]
pub(super) fn state_keys() -> &'static [Key] {
    STRINGS.get(4..5).unwrap_or(&[])
}

/// Returns the argument `poll-state`.
#[inline(always)]
pub(super) fn poll_state(state: State) -> u64 {
    word(STRINGS[2].bits(), state)
}

#[inline(always)]
fn word(key: u64, state: State) -> u64 {
    argument(key, STRINGS[state as usize].reference())
}

/// Returns a string argument whose value is in the string table.
#[inline(always)]
pub(crate) fn argument(key: u64, text: StringRef) -> u64 {
    argument::Type::make(ArgumentType::String.bits())
        | argument::Size::make(1)
        | argument::ValueRef::make(u64::from(text.bits()))
        | key
}

impl Encode for State {
    #[inline(always)]
    fn words(&self, _: Limit) -> usize {
        1
    }

    #[inline(always)]
    fn encode(&self, key: u64, words: &[AtomicU64], _: Limit) {
        if let Some(first) = words.first() {
            first.store(word(key, *self), Ordering::Relaxed);
        }
    }
}

impl Arg for State {}
