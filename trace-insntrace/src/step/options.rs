//! The settings of a step engine.

use super::range::TracedRange;
use crate::pt::Writer;

/// How the instructions of a thread are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// One by one.
    Step,
    /// Up to the next branch that depends on data, which has a breakpoint. Code where that is not
    /// safe is executed one by one.
    Block,
}

/// The settings of a step engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// How instructions are executed.
    pub engine: Engine,
    /// Writes the packets of each thread.
    pub writer: Writer,
    /// Returns time stamps.
    pub clock: fn() -> u64,
    /// Whether the packets have time stamps.
    pub has_time: bool,
    /// The distance of PSB packets in bytes.
    pub psb_bytes: u64,
    /// The traced addresses, or none for all. Other instructions are executed as slowly.
    pub ranges: Vec<TracedRange>,
    /// The number of steps after which all threads are released. Each iteration of a `rep` is a
    /// step; in a block, each instruction is one.
    pub budget: Option<u64>,
}

impl Options {
    /// The distance of PSB packets that the hardware has by default.
    pub const PSB_BYTES: u64 = 4096;

    /// Returns settings of the block engine, without time.
    #[cfg(test)]
    pub(super) fn of_blocks() -> Self {
        Self {
            engine: Engine::Block,
            writer: Writer::new(),
            clock: || 0,
            has_time: false,
            psb_bytes: Self::PSB_BYTES,
            ranges: Vec::new(),
            budget: None,
        }
    }
}
