//! Times of the trace's clock, also converted from other clocks.

use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::time::{Duration, Instant, SystemTime};

use trace_protocol::clock;

/// A time of the trace's clock, for [`trace_at!`](crate::trace_at).
///
/// [`Timestamp::now`] costs one read of the CPU's counter. The conversion from another clock reads
/// both clocks, and uses the rate between them that is measured since [`init`](crate::init). The
/// error is below a microsecond for times since `init`. An earlier time that is n times as far away
/// as `init` has an error of about n microseconds. A conversion costs about half a microsecond. It
/// works in signal handlers after `init`.
///
/// The trace's clock starts with the machine: an earlier time becomes tick 0.
///
/// `init` also decides which clock that of the trace is: what was read or converted before may be
/// of another one.
///
/// ```
/// use std::time::{Duration, Instant};
/// use trace_runtime::Timestamp;
///
/// let now = Timestamp::now();
/// let in_a_second = Timestamp::from(Instant::now() + Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// The same moment in ticks and in nanoseconds of `CLOCK_BOOTTIME`.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ticks: u64,
    nanos: u64,
}

/// A pair that is stored once.
///
/// Never blocks, because a signal handler may convert, too. Never allocates, because the service
/// thread may not.
struct FirstPair {
    /// Rules: from `EMPTY` by one thread, which then writes the other fields, to `STORING` and to
    /// `STORED`.
    state: AtomicU8,
    ticks: AtomicU64,
    nanos: AtomicU64,
}

const EMPTY: u8 = 0;
const STORING: u8 = 1;
const STORED: u8 = 2;

impl FirstPair {
    const fn new() -> Self {
        let (ticks, nanos) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { state: AtomicU8::new(EMPTY), ticks, nanos }
    }

    /// Returns the stored pair, or stores a new one. While another thread stores one, returns the
    /// new one.
    fn get_or_store(&self, new: impl FnOnce() -> Pair) -> Pair {
        // Acquire: the fields were written before.
        if self.state.load(Ordering::Acquire) == STORED {
            let [ticks, nanos] = [&self.ticks, &self.nanos].map(|it| it.load(Ordering::Relaxed));
            return Pair { ticks, nanos };
        }
        let (new, relaxed) = (new(), Ordering::Relaxed);
        if self.state.compare_exchange(EMPTY, STORING, relaxed, relaxed).is_ok() {
            self.ticks.store(new.ticks, relaxed);
            self.nanos.store(new.nanos, relaxed);
            self.state.store(STORED, Ordering::Release);
        }
        new
    }

    /// Discards a pair that a thread of the parent was storing during a fork.
    fn discard_unfinished(&self) {
        let relaxed = Ordering::Relaxed;
        let _unless_stored = self.state.compare_exchange(STORING, EMPTY, relaxed, relaxed);
    }
}

/// The moment that rates are measured from: the first `init`, or the first conversion.
static FIRST: FirstPair = FirstPair::new();

/// How often two clocks are read together; the quickest try counts.
const TRIES: usize = 5;

impl Timestamp {
    /// This moment.
    #[inline]
    #[must_use]
    pub fn now() -> Self {
        Self(clock::ticks())
    }

    /// The moment at which the clock of the trace shows this many ticks.
    ///
    /// Ticks are the CPU's counter where that is reliable (`rdtsc`, `cntvct_el0`), else nanoseconds
    /// of `CLOCK_BOOTTIME`.
    #[inline]
    #[must_use]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// The moment at which `CLOCK_BOOTTIME` shows this time since the machine started.
    #[must_use]
    pub fn from_boottime(time: Duration) -> Self {
        let (ticks, now) = paired(clock::kernel_nanoseconds);
        let offset = i128::try_from(time.as_nanos()).unwrap_or(i128::MAX) - i128::from(now);
        Self(convert(ticks, offset))
    }

    /// The moment in ticks.
    #[inline]
    #[must_use]
    pub const fn ticks(self) -> u64 {
        self.0
    }
}

/// As far as the machine has not slept in between: `Instant` stands still then, and the clock of
/// the trace does not.
impl From<Instant> for Timestamp {
    fn from(instant: Instant) -> Self {
        let (ticks, now) = paired(Instant::now);
        Self(convert(
            ticks,
            offset(instant.checked_duration_since(now), now.saturating_duration_since(instant)),
        ))
    }
}

/// By the system's time as it is set now.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let (ticks, now) = paired(SystemTime::now);
        Self(convert(
            ticks,
            offset(time.duration_since(now).ok(), now.duration_since(time).unwrap_or_default()),
        ))
    }
}

/// Begins to measure the rate between ticks and nanoseconds. Called once the source of ticks is
/// chosen.
pub(crate) fn prepare() {
    first();
}

/// Repairs the state in a forked child. Only stores.
///
/// A thread of the child that stores the first pair at this moment may store it beside another
/// thread: both pairs are of this moment.
pub(crate) fn repair_forked() {
    FIRST.discard_unfinished();
}

fn first() -> Pair {
    FIRST.get_or_store(|| {
        let (ticks, nanos) = paired(clock::kernel_nanoseconds);
        Pair { ticks, nanos }
    })
}

/// Returns the ticks at the time of `read`, and its result.
fn paired<T>(read: impl Fn() -> T) -> (u64, T) {
    let once = || {
        let before = clock::ticks();
        let time = read();
        (clock::ticks().saturating_sub(before), before, time)
    };
    let tries = (1..TRIES).map(|_| once());
    let (span, before, time) =
        tries.fold(once(), |best, next| if next.0 < best.0 { next } else { best });
    (before + span / 2, time)
}

/// Nanoseconds ahead, or, where it is not ahead, behind.
fn offset(ahead: Option<Duration>, behind: Duration) -> i128 {
    let nanos = |time: Duration| i128::try_from(time.as_nanos()).unwrap_or(i128::MAX);
    ahead.map_or_else(|| -nanos(behind), nanos)
}

/// The ticks so many nanoseconds after `ticks`, which are now.
fn convert(ticks: u64, offset: i128) -> u64 {
    let first = first();
    let (now, nanos) = paired(clock::kernel_nanoseconds);
    let passed = (now.saturating_sub(first.ticks), nanos.saturating_sub(first.nanos));
    scaled(ticks, offset, if clock::is_counter() { passed } else { (1, 1) })
}

/// `ticks` and, in ticks, `offset` nanoseconds, where so many ticks passed in so many nanoseconds.
fn scaled(ticks: u64, offset: i128, (passed, nanos): (u64, u64)) -> u64 {
    let (passed, nanos) = if passed == 0 || nanos == 0 { (1, 1) } else { (passed, nanos) };
    let ahead = offset.saturating_mul(i128::from(passed)) / i128::from(nanos);
    let ticks = i128::from(ticks).saturating_add(ahead);
    u64::try_from(ticks.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_scaled_both_ways() {
        assert_eq!(scaled(1000, 10, (30, 10)), 1030);
        assert_eq!(scaled(1000, -10, (30, 10)), 970);
        assert_eq!(scaled(1000, -1000, (30, 10)), 0);
        assert_eq!(scaled(1000, 10, (0, 10)), 1010);
        assert_eq!(scaled(1000, i128::MAX, (30, 10)), u64::MAX);
    }

    #[test]
    fn a_pair_that_the_parent_was_storing_is_stored_again() {
        let first = FirstPair::new();
        first.state.store(STORING, Ordering::Relaxed);
        assert_eq!(first.get_or_store(|| Pair { ticks: 1, nanos: 1 }).ticks, 1);
        assert_eq!(first.get_or_store(|| Pair { ticks: 2, nanos: 2 }).ticks, 2);
        first.discard_unfinished();
        assert_eq!(first.get_or_store(|| Pair { ticks: 3, nanos: 3 }).ticks, 3);
        first.discard_unfinished();
        assert_eq!(first.get_or_store(|| Pair { ticks: 4, nanos: 4 }).ticks, 3, "it is stored");
    }

    /// All clocks have the same time, within the time that it takes to read them.
    #[test]
    fn clocks_agree() {
        prepare();
        std::thread::sleep(Duration::from_millis(50));
        let least = Timestamp::now().ticks();
        let boottime = Duration::from_nanos(clock::kernel_nanoseconds());
        let (instant, system) = (Instant::now(), SystemTime::now());
        let most = Timestamp::now().ticks();
        let first = first();
        let (now, nanos) = paired(clock::kernel_nanoseconds);
        let tolerance = scaled(0, 20_000, (now - first.ticks, nanos - first.nanos));
        for time in [Timestamp::from_boottime(boottime), instant.into(), system.into()] {
            assert!(time.ticks() + tolerance >= least, "{time:?} {least}");
            assert!(time.ticks() <= most + tolerance, "{time:?} {most}");
        }
    }

    #[test]
    fn a_second_from_now_is_a_second_away() {
        prepare();
        std::thread::sleep(Duration::from_millis(50));
        let now = Instant::now();
        let (start, end) = (Timestamp::from(now), Timestamp::from(now + Duration::from_secs(1)));
        let first = first();
        let (ticks, nanos) = paired(clock::kernel_nanoseconds);
        let second = scaled(0, 1_000_000_000, (ticks - first.ticks, nanos - first.nanos));
        let found = end.ticks() - start.ticks();
        assert!(found.abs_diff(second) < second / 1000, "{found} {second}");
    }
}
