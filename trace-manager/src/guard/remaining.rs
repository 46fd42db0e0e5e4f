//! What a provider's memory still holds when the manager is dead.

use trace_protocol::archive::{self, ClockSample, Closing};
use trace_protocol::buffer::consumer::{Collector, SlotReader};
use trace_protocol::message::ClockSource;

use super::ledger::provider;
use super::messages::Provider;
use super::state::GuardedProvider;

/// The records of one provider that are to be appended, part by part.
pub(super) struct RemainingRecords {
    provider: Provider,
    collector: Collector,
    /// Copies of which the records are not in the archive, in their order.
    copies: Vec<SlotReader>,
    /// Whether its opening is to be appended too.
    opens: bool,
    /// What its own loss records in the archive account for.
    reported: u64,
    /// Copies that were not in a slot and are not in the archive.
    pub(super) missing: u64,
}

impl RemainingRecords {
    /// Finds what of `held` and its copies in `slots` is not in the first `length` bytes of the
    /// archive.
    pub(super) fn new(held: GuardedProvider, slots: Vec<SlotReader>, length: u64) -> Option<Self> {
        let opens = !held.is_open(length);
        let GuardedProvider { provider, buffer, ledger, .. } = held;
        let mut collector = Collector::new(buffer, provider.layout, provider.policy).ok()?;
        let saved = ledger.get(provider::SAVED).checked_sub(1);
        collector.resume(saved.and_then(|saved| u32::try_from(saved).ok()));
        collector.resume(slots.iter().filter_map(SlotReader::wrapped_count).max());
        let mut copies = slots;
        copies.retain(|slot| !slot.is_archived(length));
        copies.sort_by_key(SlotReader::wrapped_count);
        let reported = copies.first().and_then(SlotReader::told);
        let reported = reported.unwrap_or_else(|| ledger.get(provider::REPORTED));
        let unseen = ledger.get(provider::UNSHARED);
        let missing = unseen.saturating_sub(ledger.get(provider::UNSHARED_WRITTEN));
        Some(Self { provider, collector, copies, opens, reported, missing })
    }

    /// Appends what stands before its records. `rate` is that of the CPU's counter.
    pub(super) fn begin(&mut self, rate: u64, words: &mut Vec<u64>) {
        let identity = &self.provider.identity;
        if self.opens {
            let rate = match identity.clock {
                ClockSource::CpuCounter => rate,
                ClockSource::Boottime => 1_000_000_000,
            };
            archive::opening(words, identity, rate, &ClockSample::now());
        } else {
            archive::section(words, identity.id);
        }
        // All of it again: the records that follow need what it registers, and to register it twice
        // changes nothing.
        self.collector.collect_durable(self.collector.durable_end(), words);
    }

    /// Appends the records of the next copy. False if there is none.
    pub(super) fn next_copy(&mut self, words: &mut Vec<u64>) -> bool {
        if self.copies.is_empty() {
            return false;
        }
        let copy = self.copies.remove(0);
        self.collector.sanitize_slot(&copy, words);
        true
    }

    /// Appends what is left in the buffer, and what stands behind a provider's records.
    pub(super) fn finish(mut self, words: &mut Vec<u64>) {
        self.collector.finish(words);
        let (now, provider) = (ClockSample::now(), &self.provider.identity);
        let to = now.ticks(provider.clock);
        let closing = Closing::of(&self.collector, self.reported, self.provider.joined_at, to);
        closing.write_now(words, provider, &now);
    }
}
