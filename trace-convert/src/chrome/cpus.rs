//! The CPUs that scheduling records are about.

use std::collections::BTreeSet;

use trace_analyze::scheduling::Turns;

/// The CPUs that records are about.
#[derive(Debug, Default)]
pub(super) struct Cpus {
    /// Those that have a name already.
    pub(super) named: BTreeSet<u16>,
    /// What runs on those of each provider.
    pub(super) turns: Turns<()>,
}
