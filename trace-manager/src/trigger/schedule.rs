//! Conditions that hold at a time.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use super::text::no_action;

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

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
    /// Each day at a time. `due` is in seconds since the epoch.
    At { time: TimeOfDay, due: u64 },
}

impl Schedule {
    pub(super) fn every(interval: Duration) -> Self {
        Self::Every { interval, due: interval }
    }

    pub(super) fn at(time: TimeOfDay, now: SystemTime) -> Self {
        Self::At { time, due: time.next_after(seconds(now)) }
    }

    /// Returns whether the time has come since the last call. `elapsed` is the time since the
    /// session's start. Times that were missed together count once.
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
            Self::At { time, due } => {
                let now = seconds(now);
                let is_due = now >= *due;
                // A clock that was set back would otherwise delay the next time by days.
                if is_due || *due - now > DAY {
                    *due = time.next_after(now);
                }
                is_due
            }
        }
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
        let mut is_due = |now| schedule.is_due(Duration::ZERO, at(now));
        assert!(!is_due(3601) && !is_due(DAY + 3599));
        assert!(is_due(DAY + 3600) && !is_due(DAY + 3601) && is_due(2 * DAY + 3700));
    }

    #[test]
    fn a_clock_that_is_set_back_delays_by_a_day_at_most() {
        let mut schedule = Schedule::at("01:00".parse().unwrap(), at(10 * DAY));
        assert!(!schedule.is_due(Duration::ZERO, at(2 * DAY)));
        assert!(schedule.is_due(Duration::ZERO, at(2 * DAY + 3600)));
    }
}
