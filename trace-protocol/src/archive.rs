//! What an archive says of a provider beside the provider's own records: who it is, its clock, and
//! what it lost.
//!
//! ```text
//! magic number
//! for each provider, when it joins:
//!   provider info, initialization (ticks per second), kernel object (its process), clock anchor
//! for each of its blocks: provider section (where another provider wrote last), its records
//! when it leaves:
//!   records dropped (event), provider event, clock anchor
//! ```
//!
//! A clock anchor is an instant event of global scope, category `trace`, name `clock anchor`. Its
//! time and its arguments are the same moment on different clocks: `ticks` (the provider's),
//! `realtime_ns` (since 1970), `monotonic_ns`, `boottime_ns`. From the first and the last anchor of
//! a provider a reader has the clock's rate over the session, also where the archive went through a
//! pipe and the initialization record holds an estimate.

mod clocks;
mod closing;
mod ledger;

use trace_format::encode::append;
use trace_format::layout::{InstantScope, ObjectType, ProviderEvent, ThreadKoids};
use trace_format::notes::{self, Omission};
use trace_format::record::{
    Argument, Event, EventKind, KernelObject, Metadata, Record, Text, Thread, Value,
};

use crate::buffer::producer::LossStrings;
use crate::message::ClockSource;

pub use clocks::ClockSample;
pub use closing::Closing;
pub use ledger::{Ledger, LedgerReader};

/// Who a provider is, in the archive.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its id in the archive.
    pub id: u32,
    /// Its name, of which 255 bytes fit.
    pub name: String,
    /// The name of its process.
    pub process_name: String,
    /// Its process.
    pub pid: u32,
    /// The user that its process belongs to.
    pub uid: u32,
    /// Where its ticks come from.
    pub clock: ClockSource,
}

/// Records that a provider dropped and could not say so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The thread; `None` for several or one that is not known.
    pub thread: Option<u32>,
    /// How many.
    pub number: u64,
    /// The provider's ticks after which they were dropped.
    pub from: u64,
    /// The provider's ticks before which they were dropped.
    pub to: u64,
}

/// Appends what an archive begins with.
pub fn magic(words: &mut Vec<u64>) {
    put(words, Metadata::MagicNumber.into());
}

/// Appends what makes the records behind it those of provider `id`.
pub fn section(words: &mut Vec<u64>, id: u32) {
    put(words, Metadata::ProviderSection { id }.into());
}

/// Appends what an archive says of a provider before its records. Returns the index of the word
/// that holds the ticks per second, for who comes to know them better.
pub fn opening(
    words: &mut Vec<u64>,
    provider: &Identity,
    ticks_per_second: u64,
    now: &ClockSample,
) -> usize {
    put(words, Metadata::ProviderInfo { id: provider.id, name: provider.name.as_bytes() }.into());
    let rate = words.len() + 1;
    put(words, Record::Initialization { ticks_per_second });
    process(words, provider);
    anchor(words, provider, now);
    rate
}

fn process(words: &mut Vec<u64>, provider: &Identity) {
    let arguments = [Argument::new("uid", Value::Uint32(provider.uid))];
    let object = KernelObject {
        object_type: ObjectType::PROCESS,
        koid: u64::from(provider.pid),
        name: Text::from(provider.process_name.as_str()),
        arguments: (&arguments).into(),
    };
    put(words, object.into());
}

/// Appends a clock anchor.
pub fn anchor(words: &mut Vec<u64>, provider: &Identity, now: &ClockSample) {
    let ticks = now.ticks(provider.clock);
    let arguments = [
        Argument::new("ticks", Value::Uint64(ticks)),
        Argument::new("realtime_ns", Value::Uint64(now.realtime)),
        Argument::new("monotonic_ns", Value::Uint64(now.monotonic)),
        Argument::new("boottime_ns", Value::Uint64(now.boottime)),
    ];
    instant(words, provider, ticks, notes::CLOCK_ANCHOR, InstantScope::Global, &arguments);
}

/// Appends a loss as an event that any viewer shows, of the same form as a provider's own.
pub fn loss(words: &mut Vec<u64>, provider: &Identity, reason: &str, loss: Loss) {
    let [reason_key, number, from, to] = LossStrings::KEYS;
    let arguments = [
        Argument::new(reason_key, Value::String(reason.into())),
        Argument::new(number, Value::Uint64(loss.number)),
        Argument::new(from, Value::Uint64(loss.from)),
        Argument::new(to, Value::Uint64(loss.to)),
    ];
    let (thread, scope) = match loss.thread {
        Some(thread) => (thread, InstantScope::Thread),
        None => (provider.pid, InstantScope::Process),
    };
    let koids = ThreadKoids::new(u64::from(provider.pid), u64::from(thread));
    instant_of(words, koids, loss.to, LossStrings::NAME, scope, &arguments);
}

/// Appends an event which reports that a provider recorded nothing from `from` to `to`, in its
/// ticks, because it got a new buffer.
pub fn interruption(words: &mut Vec<u64>, provider: &Identity, from: u64, to: u64) {
    let [_, _, from_key, to_key] = LossStrings::KEYS;
    let arguments =
        [Argument::new(from_key, Value::Uint64(from)), Argument::new(to_key, Value::Uint64(to))];
    instant(words, provider, to, notes::INTERRUPTED, InstantScope::Process, &arguments);
}

/// Appends an event which reports at `ticks` that `number` items are missing.
pub fn omission(
    words: &mut Vec<u64>,
    provider: &Identity,
    ticks: u64,
    omission: Omission,
    number: u64,
) {
    let arguments = [Argument::new(Omission::NUMBER, Value::Uint64(number))];
    instant(words, provider, ticks, omission.event(), InstantScope::Process, &arguments);
}

/// Appends the record that says that a provider's buffer filled up.
pub fn buffer_full(words: &mut Vec<u64>, id: u32) {
    put(words, Metadata::ProviderEvent { id, event: ProviderEvent::BUFFER_FULL }.into());
}

fn instant(
    words: &mut Vec<u64>,
    provider: &Identity,
    ticks: u64,
    name: &str,
    scope: InstantScope,
    arguments: &[Argument<'_>],
) {
    let pid = u64::from(provider.pid);
    instant_of(words, ThreadKoids::new(pid, pid), ticks, name, scope, arguments);
}

fn instant_of(
    words: &mut Vec<u64>,
    thread: ThreadKoids,
    ticks: u64,
    name: &str,
    scope: InstantScope,
    arguments: &[Argument<'_>],
) {
    let event = Event {
        ticks,
        // The provider's tables are its own: nothing here refers to them.
        thread: Thread::Inline(thread),
        category: LossStrings::CATEGORY.into(),
        name: name.into(),
        kind: EventKind::Instant { scope: Some(scope) },
        arguments: arguments.into(),
    };
    put(words, event.into());
}

fn put(words: &mut Vec<u64>, record: Record<'_>) {
    let put = append(words, &record);
    debug_assert!(put.is_ok(), "these records are small and have few arguments: {put:?}");
}
