//! The records that the manager itself writes.
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
//! `realtime_ns` (since 1970), `monotonic_ns`, `boottime_ns`. From the first and the last anchor of a
//! provider a reader has the clock's rate over the session, also where the archive went through a pipe
//! and the initialization record holds an estimate.

use trace_format::encode::append;
use trace_format::layout::{InstantScope, ObjectType, ProviderEvent, ThreadKoids};
use trace_format::record::{
    Argument, Event, EventKind, KernelObject, Metadata, Record, Text, Thread, Value,
};
use trace_protocol::message::ClockSource;

use super::Block;
use crate::clock::ClockSample;

/// The category of the manager's own events.
pub(crate) const CATEGORY: &str = "trace";

/// Who a provider is, in the archive.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// Its id in the archive.
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) process_name: String,
    pub(crate) pid: u32,
    pub(crate) uid: u32,
    pub(crate) clock: ClockSource,
}

/// Returns the beginning of an archive.
pub(crate) fn magic() -> Block {
    let mut block = Block::default();
    put(&mut block.words, Metadata::MagicNumber.into());
    block
}

/// Appends what makes the records behind it those of provider `id`.
pub(crate) fn section(words: &mut Vec<u64>, id: u32) {
    put(words, Metadata::ProviderSection { id }.into());
}

/// Appends what an archive says of a provider before its records.
pub(crate) fn opening(
    block: &mut Block,
    provider: &Identity,
    ticks_per_second: u64,
    now: &ClockSample,
) {
    let words = &mut block.words;
    put(words, Metadata::ProviderInfo { id: provider.id, name: provider.name.as_bytes() }.into());
    if provider.clock == ClockSource::CpuCounter {
        // The word behind the header.
        block.rates.push(words.len() + 1);
    }
    put(words, Record::Initialization { ticks_per_second });
    process(words, provider);
    anchor(words, provider, now);
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
pub(crate) fn anchor(words: &mut Vec<u64>, provider: &Identity, now: &ClockSample) {
    let ticks = now.ticks(provider.clock);
    let arguments = [
        Argument::new("ticks", Value::Uint64(ticks)),
        Argument::new("realtime_ns", Value::Uint64(now.realtime)),
        Argument::new("monotonic_ns", Value::Uint64(now.monotonic)),
        Argument::new("boottime_ns", Value::Uint64(now.boottime)),
    ];
    instant(words, provider, ticks, "clock anchor", InstantScope::Global, &arguments);
}

/// Records that a provider dropped and could not say so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) number: u64,
    /// Between which ticks of the provider it happened.
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Appends a loss as an event that any viewer shows, of the same form as a provider's own.
pub(crate) fn loss(words: &mut Vec<u64>, provider: &Identity, loss: Loss) {
    let arguments = [
        Argument::new("reason", Value::String("buffer full".into())),
        Argument::new("number", Value::Uint64(loss.number)),
        Argument::new("from", Value::Uint64(loss.from)),
        Argument::new("to", Value::Uint64(loss.to)),
    ];
    instant(words, provider, loss.to, "records dropped", InstantScope::Process, &arguments);
}

/// Appends the record that says that a provider's buffer filled up.
pub(crate) fn buffer_full(words: &mut Vec<u64>, id: u32) {
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
    let event = Event {
        ticks,
        // The provider's tables are its own: nothing of the manager refers to them.
        thread: Thread::Inline(ThreadKoids::new(pid, pid)),
        category: CATEGORY.into(),
        name: name.into(),
        kind: EventKind::Instant { scope: Some(scope) },
        arguments: arguments.into(),
    };
    put(words, event.into());
}

fn put(words: &mut Vec<u64>, record: Record<'_>) {
    let appended = append(words, &record);
    debug_assert!(appended.is_ok(), "{record:?} fits the format: {appended:?}");
}
