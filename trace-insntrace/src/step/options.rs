//! The settings of a step engine.

use super::range::TracedRange;
use crate::pt::Writer;

/// The settings of a step engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Writes the packets of each thread.
    pub writer: Writer,
    /// Returns time stamps.
    pub clock: fn() -> u64,
    /// Whether the packets have time stamps.
    pub has_time: bool,
    /// The distance of PSB packets in bytes.
    pub psb_bytes: u64,
    /// The traced addresses, or none for all. Other instructions are executed one by one too.
    pub ranges: Vec<TracedRange>,
    /// The number of steps after which all threads are released. Each iteration of a `rep` is a
    /// step.
    pub budget: Option<u64>,
}

impl Options {
    /// The distance of PSB packets that the hardware has by default.
    pub const PSB_BYTES: u64 = 4096;
}
