//! Times and tracks of what is not recorded.

use std::marker::PhantomData;
use std::time::{Duration, Instant, SystemTime};

/// A moment that nobody asks for: all are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(PhantomData<()>);

impl Timestamp {
    /// Reads no clock.
    pub fn now() -> Self {
        Self(PhantomData)
    }

    /// Keeps nothing.
    pub const fn from_ticks(_ticks: u64) -> Self {
        Self(PhantomData)
    }

    /// Keeps nothing.
    pub fn from_boottime(_time: Duration) -> Self {
        Self(PhantomData)
    }

    /// Is 0.
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

/// A track that is in no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Track(PhantomData<()>);

impl Track {
    /// Names nothing.
    pub fn new(_name: impl AsRef<str>) -> Self {
        Self(PhantomData)
    }

    /// Names nothing.
    pub fn with_id(_name: impl AsRef<str>, _id: u64) -> Self {
        Self(PhantomData)
    }

    /// Is 0.
    pub const fn koid(self) -> u64 {
        0
    }
}
