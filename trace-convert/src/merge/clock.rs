//! The clocks of several archives.

use std::collections::HashMap;
use std::io::Read;

use trace_format::layout::ARTIFICIAL_KOID_BIT;
use trace_format::{Event, Item, Provider, Reader, Record, TickRate};

use crate::ConvertError;
use trace_analyze::is_clock_anchor;
use trace_analyze::Damage;
use trace_analyze::{arguments, koids};

/// How far apart boot times of the same boot may be: the wall clock may have
/// been set a little between two recordings.
const SAME_BOOT_NANOS: u64 = 2_000_000_000;

/// Anchors nearer than this say less of a clock's rate than its archive does.
const MIN_APART_NANOS: u64 = 1_000_000_000;

/// A wall clock that goes wrong by less, and by less than a thousandth, was not
/// set but kept right.
const MIN_SET_NANOS: u64 = 1_000_000;

/// A time in a provider's ticks and in others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Anchor {
    ticks: u64,
    boottime: u64,
    realtime: u64,
}

/// What an archive says of its providers' clocks.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    /// The first and the last anchor of each provider.
    anchors: HashMap<Option<u32>, (Anchor, Anchor)>,
    /// The largest koid of a process or thread that the kernel gave.
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
            let given = [process, thread].into_iter().flatten().filter(|koid| is_given(*koid));
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

    /// Returns when the machine was booted, by the wall clock.
    fn boots(&self) -> impl Iterator<Item = u64> + '_ {
        self.anchors.values().map(|(first, _)| first.realtime.saturating_sub(first.boottime))
    }
}

/// One clock for several archives.
#[derive(Debug)]
pub(super) struct Timeline {
    archives: Vec<Clocks>,
    /// What is taken off the wall clock; `None` if times are since boot.
    realtime_less: Option<u64>,
    /// What is added to the koids of each archive.
    raised_by: Vec<u64>,
}

impl Timeline {
    pub(super) fn new(clocks: &[Clocks]) -> Self {
        let boots = || clocks.iter().flat_map(Clocks::boots);
        let earliest = boots().min().unwrap_or(0);
        let is_one_boot = boots().max().unwrap_or(0) - earliest <= SAME_BOOT_NANOS;
        let anchors = || clocks.iter().flat_map(|clocks| clocks.anchors.values());
        let start = || anchors().map(|(first, _)| first.realtime).min().unwrap_or(0);
        // The oldest event may be older than the oldest anchor, by a day at most.
        let start = || start().saturating_sub(86_400_000_000_000);
        let realtime_less = (!is_one_boot).then(start);
        Self { archives: clocks.to_vec(), realtime_less, raised_by: raised_by(clocks) }
    }

    /// Returns what is added to koids, so that those of several boots differ.
    pub(super) fn raised_by(&self, archive: usize) -> u64 {
        self.raised_by.get(archive).copied().unwrap_or(0)
    }

    pub(super) fn is_realtime(&self) -> bool {
        self.realtime_less.is_some()
    }

    fn anchors(&self, archive: usize, provider: Option<u32>) -> Option<(Anchor, Anchor)> {
        self.archives.get(archive).and_then(|clocks| clocks.anchors.get(&provider)).copied()
    }

    /// Returns by how much the wall clock was set while a provider was recorded,
    /// in nanoseconds, if that matters and is more than to keep it right.
    pub(super) fn wall_clock_set(&self, archive: usize, provider: Option<u32>) -> Option<i64> {
        self.realtime_less?;
        let (first, last) = self.anchors(archive, provider)?;
        let apart = last.boottime.wrapping_sub(first.boottime) as i64;
        let by_wall_clock = last.realtime.wrapping_sub(first.realtime) as i64;
        let set = by_wall_clock.wrapping_sub(apart);
        (set.unsigned_abs() > MIN_SET_NANOS + apart.unsigned_abs() / 1000).then_some(set)
    }

    pub(super) fn knows(&self, archive: usize, provider: Option<u32>) -> bool {
        self.anchors(archive, provider).is_some()
    }

    /// Returns how ticks of a provider are to be converted.
    pub(super) fn clock(&self, archive: usize, provider: &Provider) -> Clock {
        let rate = provider.tick_rate();
        let Some((first, last)) = self.anchors(archive, provider.id()) else {
            return Clock { rate, ticks: 0, nanos: 0, slope: None, raised_by: 0 };
        };
        let nanos = |anchor: Anchor| match self.realtime_less {
            Some(less) => anchor.realtime.saturating_sub(less),
            None => anchor.boottime,
        };
        // The wall clock may be set in between.
        let apart = last.boottime.saturating_sub(first.boottime);
        let is_slope = apart >= MIN_APART_NANOS && last.ticks > first.ticks;
        let slope = is_slope.then(|| (apart, last.ticks - first.ticks));
        Clock {
            rate,
            ticks: first.ticks,
            nanos: nanos(first),
            slope,
            raised_by: self.raised_by(archive),
        }
    }
}

/// Returns what is to be added to the koids of each archive: nothing for those
/// of the first boot, and of an unknown one.
fn raised_by(clocks: &[Clocks]) -> Vec<u64> {
    let largest = clocks.iter().map(|clocks| clocks.largest_koid).max().unwrap_or(0);
    // Viewers take 32 bits, of which Linux uses 22.
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

/// Tells whether a koid was given by a kernel to a process or thread.
fn is_given(koid: u64) -> bool {
    koid != 0 && koid & ARTIFICIAL_KOID_BIT == 0
}

/// How ticks and koids of a provider are to be converted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    rate: TickRate,
    /// A time in ticks, and the same in nanoseconds.
    ticks: u64,
    nanos: u64,
    /// So many nanoseconds are so many ticks, if that was measured.
    slope: Option<(u64, u64)>,
    /// What is added to koids. Those of a provider without anchors stay.
    raised_by: u64,
}

impl Clock {
    pub(super) fn nanos(&self, ticks: u64) -> u64 {
        match ticks.checked_sub(self.ticks) {
            Some(since) => self.nanos.saturating_add(self.length(since)),
            None => self.nanos.saturating_sub(self.length(self.ticks - ticks)),
        }
    }

    pub(super) fn koid(&self, koid: u64) -> u64 {
        if is_given(koid) {
            koid.wrapping_add(self.raised_by)
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
