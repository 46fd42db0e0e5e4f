//! Timestamps and tracks, with tracing compiled out.

use std::marker::PhantomData;
use std::time::{Duration, Instant, SystemTime};

/// An empty timestamp. All are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(PhantomData<()>);

impl Timestamp {
    /// Returns an empty timestamp, without a clock read.
    pub fn now() -> Self {
        Self(PhantomData)
    }

    /// Returns an empty timestamp.
    pub const fn from_ticks(_ticks: u64) -> Self {
        Self(PhantomData)
    }

    /// Returns an empty timestamp.
    pub fn from_boottime(_time: Duration) -> Self {
        Self(PhantomData)
    }

    /// Returns 0.
    pub const fn ticks(self) -> u64 {
        0
    }
}

impl From<Instant> for Timestamp {
    fn from(_: Instant) -> Self {
        Self(PhantomData)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(_: SystemTime) -> Self {
        Self(PhantomData)
    }
}

/// An empty track. All are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Track(PhantomData<()>);

impl Track {
    /// Returns an empty track.
    pub fn new(_name: impl AsRef<str>) -> Self {
        Self(PhantomData)
    }

    /// Returns an empty track.
    pub fn with_id(_name: impl AsRef<str>, _id: u64) -> Self {
        Self(PhantomData)
    }

    /// Returns 0.
    pub const fn koid(self) -> u64 {
        0
    }
}
