//! Conditions that hold at a time.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use super::text::no_action;

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

/// The most seconds by which the clock may differ from the time that has passed between two calls.
const MAX_DRIFT: u64 = MINUTE;

/// The time after a time of day in which it does not come again: the clock was set back.
const REPEATED: Duration = Duration::from_secs(DAY / 2);

/// A time of day in UTC, to the minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOfDay {
    /// Minutes since midnight, less than 1440.
    minutes: u32,
}

impl FromStr for TimeOfDay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let (hour, minute) = (parts.next(), parts.next());
        if let Some(rest) = parts.next() {
            return Err(no_action(rest));
        }
        let number = |text: Option<&str>, end: u32| -> Option<u32> {
            let text = text.filter(|text| (1..=2).contains(&text.len()))?;
            let has_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| has_digits && *number < end)
        };
        let time = number(hour, 24).zip(number(minute, 60).filter(|_| has_two_digits(minute)));
        let time = time.map(|(hour, minute)| Self { minutes: hour * 60 + minute });
        time.ok_or_else(|| format!("'{text}' is not a time of day such as 03:30, in UTC"))
    }
}

fn has_two_digits(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.len() == 2)
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl TimeOfDay {
    /// Returns the next such time after `now`, both in seconds since the epoch.
    fn next_after(self, now: u64) -> u64 {
        let today = now - now % DAY + u64::from(self.minutes) * MINUTE;
        if today > now {
            today
        } else {
            today + DAY
        }
    }
}

/// The state of a schedule.
#[derive(Debug, Clone)]
pub(super) enum Schedule {
    /// Each `interval` since the session's start.
    Every { interval: Duration, due: Duration },
    /// Each day at a time.
    At(Daily),
}

/// Each day at a time.
#[derive(Debug, Clone)]
pub(super) struct Daily {
    time: TimeOfDay,
    /// The next time, in seconds since the epoch.
    due: u64,
    /// The last call: the time since the session's start, and seconds since the epoch.
    last: (Duration, u64),
    /// When it was due last, since the session's start.
    held_at: Option<Duration>,
}

impl Schedule {
    pub(super) fn every(interval: Duration) -> Self {
        Self::Every { interval, due: interval }
    }

    pub(super) fn at(time: TimeOfDay, now: SystemTime) -> Self {
        let now = seconds(now);
        let (due, last) = (time.next_after(now), (Duration::ZERO, now));
        Self::At(Daily { time, due, last, held_at: None })
    }

    /// Returns whether the time has come since the last call. `elapsed` is the time since the
    /// session's start by CLOCK_BOOTTIME. Times that were missed together count once.
    pub(super) fn is_due(&mut self, elapsed: Duration, now: SystemTime) -> bool {
        match self {
            Self::Every { interval, due } => {
                let is_due = elapsed >= *due;
                if is_due {
                    let passed = elapsed.as_nanos() / interval.as_nanos().max(1) + 1;
                    let passed = u32::try_from(passed).unwrap_or(u32::MAX);
                    *due = interval.saturating_mul(passed);
                }
                is_due
            }
            Self::At(daily) => daily.is_due(elapsed, seconds(now)),
        }
    }
}

impl Daily {
    fn is_due(&mut self, elapsed: Duration, now: u64) -> bool {
        let was_set = self.was_set(elapsed, now);
        self.last = (elapsed, now);
        let has_come = now >= self.due;
        if has_come || was_set {
            self.due = self.time.next_after(now);
        }
        let is_repeated = self.held_at.is_some_and(|at| elapsed.saturating_sub(at) < REPEATED);
        let is_due = has_come && !was_set && !is_repeated;
        if is_due {
            self.held_at = Some(elapsed);
        }
        is_due
    }

    /// Returns whether the clock was set since the last call: it moved by another time than that
    /// which has passed.
    fn was_set(&self, elapsed: Duration, now: u64) -> bool {
        let (earlier, before) = self.last;
        let expected = before.saturating_add(elapsed.saturating_sub(earlier).as_secs());
        now.abs_diff(expected) > MAX_DRIFT
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_of_day() {
        for (text, minutes) in [("00:00", 0), ("3:30", 210), ("23:59", 1439)] {
            assert_eq!(text.parse(), Ok(TimeOfDay { minutes }));
        }
        for wrong in ["24:00", "12:60", "12", "1:2", ":30", "+1:30", "a:30", "003:30", ""] {
            assert!(wrong.parse::<TimeOfDay>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_interval_is_counted_from_the_start() {
        let mut schedule = Schedule::every(Duration::from_secs(10));
        let mut is_due = |seconds| schedule.is_due(Duration::from_secs(seconds), at(0));
        assert_eq!([9, 10, 11, 19, 20].map(&mut is_due), [false, true, false, false, true]);
        assert_eq!([55, 59, 60].map(&mut is_due), [true, false, true], "missed ones count once");
    }

    #[test]
    fn a_time_of_day_comes_once_a_day() {
        let time: TimeOfDay = "01:00".parse().unwrap();
        let mut schedule = Schedule::at(time, at(3600));
        let mut is_due = |now| schedule.is_due(Duration::from_secs(now - 3600), at(now));
        assert!(!is_due(3601) && !is_due(DAY + 3599));
        assert!(is_due(DAY + 3600) && !is_due(DAY + 3601) && is_due(2 * DAY + 3700));
    }

    /// A session that starts at 00:00, with a condition at 03:30 and the times of calls: the time
    /// since the start, and that of day, both in minutes. Returns the times of day at which it is
    /// due.
    fn due_times(calls: &[(u64, u64)]) -> Vec<u64> {
        let mut schedule = Schedule::at("03:30".parse().unwrap(), at(10 * DAY));
        let mut is_due = |(elapsed, wall)| {
            let elapsed = Duration::from_secs(elapsed * MINUTE);
            schedule.is_due(elapsed, at(10 * DAY + wall * MINUTE))
        };
        calls.iter().filter(|call| is_due(**call)).map(|call| call.1).collect()
    }

    #[test]
    fn a_clock_that_is_set_forward_does_not_reach_the_time() {
        assert_eq!(due_times(&[(1, 1), (2, 480), (3, 481)]), []);
        assert_eq!(due_times(&[(1, 1), (2, 200), (11, 209), (12, 210)]), [210], "to before it");
        let next_day = 1440 + 210;
        assert_eq!(due_times(&[(1, 480), (2, 481), (1171, next_day)]), [next_day]);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_reach_the_time_again() {
        let next_day = 1440 + 210;
        assert_eq!(due_times(&[(210, 210), (211, 151), (270, 210), (271, 211)]), [210]);
        let calls = [(210, 210), (211, 151), (270, 210), (1709, next_day - 1), (1710, next_day)];
        assert_eq!(due_times(&calls), [210, next_day]);
        assert_eq!(due_times(&[(200, 200), (201, 100), (311, 210)]), [210], "from before it");
    }

    /// It is due if the machine slept or the event loop was busy at the time.
    #[test]
    fn time_that_passes_without_calls_counts() {
        assert_eq!(due_times(&[(1, 1), (400, 400), (401, 401)]), [400]);
    }

    #[test]
    fn a_clock_that_is_set_back_delays_by_a_day_at_most() {
        let mut schedule = Schedule::at("01:00".parse().unwrap(), at(10 * DAY));
        assert!(!schedule.is_due(Duration::ZERO, at(2 * DAY)));
        assert!(schedule.is_due(Duration::from_secs(3600), at(2 * DAY + 3600)));
    }
}
