//! What an archive says of a provider behind its records.

use trace_protocol::archive::{self, ClockSample, Identity, Loss};

/// Why records are missing of which the provider did not say so itself.
const REASON: &str = "buffer full";

/// What a provider dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropped {
    /// Records, over the whole session.
    pub(crate) number: u64,
    /// How many of them its own loss records account for.
    pub(crate) told: u64,
    /// Its ticks when it joined.
    pub(crate) joined_at: u64,
}

/// Appends what is behind a provider's records.
pub(crate) fn closing(words: &mut Vec<u64>, provider: &Identity, dropped: Dropped) {
    let now = ClockSample::now();
    let untold = dropped.number.saturating_sub(dropped.told);
    if untold != 0 {
        let to = now.ticks(provider.clock);
        let loss = Loss { number: untold, from: dropped.joined_at, to };
        archive::loss(words, provider, REASON, loss);
    }
    if dropped.number != 0 {
        archive::buffer_full(words, provider.id);
    }
    archive::anchor(words, provider, &now);
}
