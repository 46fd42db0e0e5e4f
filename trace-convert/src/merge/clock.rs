//! The clocks of the merged archives.

use std::collections::HashMap;
use std::io::Read;

use trace_format::layout::ARTIFICIAL_KOID_BIT;
use trace_format::{Event, Item, Provider, Reader, Record, TickRate};

use crate::ConvertError;
use trace_analyze::{arguments, is_clock_anchor, koids, Damage};

/// The maximum difference between boot times of the same boot: the wall clock may be adjusted
/// between two recordings.
const SAME_BOOT_NANOS: u64 = 2_000_000_000;

/// The minimum distance of anchors for a clock's rate. Otherwise the archive's rate is more exact.
const MIN_DISTANCE_NANOS: u64 = 1_000_000_000;

/// A smaller deviation of the wall clock, or one of less than a thousandth, is an adjustment of its
/// rate.
const MIN_SET_NANOS: u64 = 1_000_000;

/// A time in a provider's ticks and in system clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Anchor {
    ticks: u64,
    boottime: u64,
    realtime: u64,
}

/// The clock anchors of an archive.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    /// The first and the last anchor of each provider.
    anchors: HashMap<Option<u32>, (Anchor, Anchor)>,
    /// The largest koid that the kernel assigned.
    largest_koid: u64,
}

impl Clocks {
    /// Reads the clock anchors of an archive.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading it failed.
    pub fn read<R: Read>(reader: Reader<R>) -> Result<Self, ConvertError> {
        let mut clocks = Self::default();
        Damage::of_all(reader, |item| {
            if let Record::Event(event) = &item.record {
                clocks.event(item, event);
            }
            let (process, thread) = koids::named(&item.record);
            let given =
                [process, thread].into_iter().flatten().filter(|koid| is_kernel_koid(*koid));
            clocks.largest_koid = given.fold(clocks.largest_koid, u64::max);
        })?;
        Ok(clocks)
    }

    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) {
        if !is_clock_anchor(item, event) {
            return;
        }
        let argument = |key| arguments::named_unsigned(item, &event.arguments, key);
        let (boottime, realtime) = (argument("boottime_ns"), argument("realtime_ns"));
        if let (Some(boottime), Some(realtime)) = (boottime, realtime) {
            let anchor = Anchor { ticks: event.ticks, boottime, realtime };
            let anchors = self.anchors.entry(item.provider.id()).or_insert((anchor, anchor));
            anchors.0 = if anchor.ticks < anchors.0.ticks { anchor } else { anchors.0 };
            anchors.1 = if anchor.ticks > anchors.1.ticks { anchor } else { anchors.1 };
        }
    }

    /// Returns the boot times by the wall clock, of each provider.
    fn boots(&self) -> impl Iterator<Item = u64> + '_ {
        self.anchors.values().map(|(first, _)| first.realtime.saturating_sub(first.boottime))
    }
}

/// One clock for several archives.
#[derive(Debug)]
pub(super) struct Timeline {
    archives: Vec<Clocks>,
    /// The offset that is subtracted from the wall clock; `None` if times are since boot.
    realtime_offset: Option<u64>,
    /// The offset of the koids of each archive.
    koid_offset: Vec<u64>,
}

impl Timeline {
    pub(super) fn new(clocks: &[Clocks]) -> Self {
        let boots = || clocks.iter().flat_map(Clocks::boots);
        let earliest = boots().min().unwrap_or(0);
        let is_one_boot = boots().max().unwrap_or(0) - earliest <= SAME_BOOT_NANOS;
        let anchors = || clocks.iter().flat_map(|clocks| clocks.anchors.values());
        let start = || anchors().map(|(first, _)| first.realtime).min().unwrap_or(0);
        // Events may precede the first anchor by up to a day.
        let start = || start().saturating_sub(86_400_000_000_000);
        let realtime_offset = (!is_one_boot).then(start);
        Self { archives: clocks.to_vec(), realtime_offset, koid_offset: koid_offset(clocks) }
    }

    pub(super) fn koid_offset(&self, archive: usize) -> u64 {
        self.koid_offset.get(archive).copied().unwrap_or(0)
    }

    pub(super) fn is_realtime(&self) -> bool {
        self.realtime_offset.is_some()
    }

    fn anchors(&self, archive: usize, provider: Option<u32>) -> Option<(Anchor, Anchor)> {
        self.archives.get(archive).and_then(|clocks| clocks.anchors.get(&provider)).copied()
    }

    /// Returns by how many nanoseconds the wall clock was set during a provider's recording, if
    /// times are of the wall clock and it was set.
    pub(super) fn wall_clock_set(&self, archive: usize, provider: Option<u32>) -> Option<i64> {
        self.realtime_offset?;
        let (first, last) = self.anchors(archive, provider)?;
        let distance = last.boottime.wrapping_sub(first.boottime) as i64;
        let by_wall_clock = last.realtime.wrapping_sub(first.realtime) as i64;
        let set = by_wall_clock.wrapping_sub(distance);
        (set.unsigned_abs() > MIN_SET_NANOS + distance.unsigned_abs() / 1000).then_some(set)
    }

    pub(super) fn has_anchors(&self, archive: usize, provider: Option<u32>) -> bool {
        self.anchors(archive, provider).is_some()
    }

    /// Returns the conversion of a provider's ticks.
    pub(super) fn clock(&self, archive: usize, provider: &Provider) -> Clock {
        let rate = provider.tick_rate();
        let Some((first, last)) = self.anchors(archive, provider.id()) else {
            return Clock { rate, ticks: 0, nanos: 0, slope: None, koid_offset: 0 };
        };
        let nanos = |anchor: Anchor| match self.realtime_offset {
            Some(less) => anchor.realtime.saturating_sub(less),
            None => anchor.boottime,
        };
        // The wall clock may be set between the anchors.
        let distance = last.boottime.saturating_sub(first.boottime);
        let is_slope = distance >= MIN_DISTANCE_NANOS && last.ticks > first.ticks;
        let slope = is_slope.then(|| (distance, last.ticks - first.ticks));
        Clock {
            rate,
            ticks: first.ticks,
            nanos: nanos(first),
            slope,
            koid_offset: self.koid_offset(archive),
        }
    }
}

/// Returns the offset of the koids of each archive: 0 for the first boot, and for an unknown one.
fn koid_offset(clocks: &[Clocks]) -> Vec<u64> {
    let largest = clocks.iter().map(|clocks| clocks.largest_koid).max().unwrap_or(0);
    // Viewers support 32 bits, and Linux uses 22.
    let unit = (largest.min(1 << 40) + 1).next_power_of_two().max(1 << 22);
    let mut known: Vec<u64> = Vec::new();
    let of = |clocks: &Clocks| {
        let Some(boot) = clocks.boots().min() else { return 0 };
        let is_same = |other: &u64| other.abs_diff(boot) <= SAME_BOOT_NANOS;
        let place = known.iter().position(is_same).unwrap_or_else(|| {
            known.push(boot);
            known.len() - 1
        });
        unit.wrapping_mul(place as u64)
    };
    clocks.iter().map(of).collect()
}

/// Returns whether the kernel assigned a koid to a process or thread.
fn is_kernel_koid(koid: u64) -> bool {
    koid != 0 && koid & ARTIFICIAL_KOID_BIT == 0
}

/// The conversion of a provider's ticks and koids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    rate: TickRate,
    /// A time in ticks, and the same time in nanoseconds.
    ticks: u64,
    nanos: u64,
    /// Nanoseconds and ticks of the same length, if anchors give the rate.
    slope: Option<(u64, u64)>,
    /// The offset of koids: 0 for a provider without anchors.
    koid_offset: u64,
}

impl Clock {
    pub(super) fn nanos(&self, ticks: u64) -> u64 {
        match ticks.checked_sub(self.ticks) {
            Some(since) => self.nanos.saturating_add(self.length(since)),
            None => self.nanos.saturating_sub(self.length(self.ticks - ticks)),
        }
    }

    pub(super) fn koid(&self, koid: u64) -> u64 {
        if is_kernel_koid(koid) {
            koid.wrapping_add(self.koid_offset)
        } else {
            koid
        }
    }

    fn length(&self, ticks: u64) -> u64 {
        match self.slope {
            Some((nanos, of)) => {
                let length = u128::from(ticks) * u128::from(nanos) / u128::from(of);
                u64::try_from(length).unwrap_or(u64::MAX)
            }
            None => self.rate.to_nanos(ticks),
        }
    }
}
