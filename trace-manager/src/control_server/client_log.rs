//! Messages that controllers and programs cause. A user could fill the log with them.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use log::Level;

use crate::server::UserRates;

/// The most messages that a user causes in a second, and the most errors.
const MOST: u32 = 10;

/// The time after which messages that are left out are reported.
const REPORT: Duration = Duration::from_secs(1);

/// Logs the messages that controllers and programs cause, a limited number a second for each user.
#[derive(Debug, Default)]
pub(super) struct ClientLog(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    rates: UserRates,
    /// Those of errors: other messages do not displace them.
    errors: UserRates,
    omitted: Omitted,
}

/// The messages that were left out since the last report.
#[derive(Debug, Default)]
struct Omitted {
    number: u64,
    /// When the next report is due, if there are any.
    report_at: Option<Instant>,
}

impl ClientLog {
    /// Logs a message that the user `owner` has caused. Those of the daemon itself, without a user,
    /// are not limited. Returns whether this is the first message that is left out since the last
    /// report.
    pub(super) fn log(
        &self,
        level: Level,
        owner: Option<u32>,
        message: fmt::Arguments<'_>,
    ) -> bool {
        let now = Instant::now();
        let is_first = owner.and_then(|uid| self.lock().admit(level, uid, now).err());
        if is_first.is_none() {
            log::log!(level, "{message}");
        }
        is_first.unwrap_or(false)
    }

    /// Returns when [`report_omitted`](Self::report_omitted) is due.
    pub(super) fn report_at(&self) -> Option<Instant> {
        self.lock().omitted.report_at
    }

    /// Reports how many messages were left out, if it is due.
    pub(super) fn report_omitted(&self, now: Instant) {
        let omitted = self.lock().take_omitted(now);
        if let Some(number) = omitted {
            log::warn!("{number} messages that controllers or programs have caused are left out");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Counts a message. If it is left out, returns whether it is the first one.
    fn admit(&mut self, level: Level, uid: u32, now: Instant) -> Result<(), bool> {
        let rates = match level {
            Level::Error => &mut self.errors,
            _ => &mut self.rates,
        };
        if rates.count(uid, now, MOST) {
            return Ok(());
        }
        let Omitted { number, report_at } = &mut self.omitted;
        *number = number.saturating_add(1);
        report_at.get_or_insert(now + REPORT);
        Err(*number == 1)
    }

    /// Returns the number of messages that were left out, if the report is due.
    fn take_omitted(&mut self, now: Instant) -> Option<u64> {
        let is_due = self.omitted.report_at.is_some_and(|at| at <= now);
        is_due.then(|| std::mem::take(&mut self.omitted).number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_causes_a_limited_number_of_messages_in_a_second() {
        let (mut counts, now) = (Counts::default(), Instant::now());
        let mut admit = |level, uid| counts.admit(level, uid, now);
        assert_eq!((0..5000).filter(|_| admit(Level::Info, 1).is_ok()).count(), 10);
        assert!(admit(Level::Warn, 1).is_err());
        assert!(admit(Level::Info, 2).is_ok(), "another user");
        assert_eq!((0..5000).filter(|_| admit(Level::Error, 1).is_ok()).count(), 10, "errors");
        assert!(counts.admit(Level::Info, 1, now + Duration::from_secs(2)).is_ok());
    }

    #[test]
    fn messages_that_are_left_out_are_reported_after_a_second() {
        let (mut counts, now) = (Counts::default(), Instant::now());
        assert_eq!(counts.take_omitted(now), None);
        let results: Vec<_> = (0..13).map(|_| counts.admit(Level::Info, 1, now)).collect();
        assert_eq!(results[9..], [Ok(()), Err(true), Err(false), Err(false)]);
        assert_eq!(counts.take_omitted(now), None);
        assert_eq!(counts.omitted.report_at, Some(now + REPORT));
        assert_eq!(counts.take_omitted(now + REPORT), Some(3));
        assert_eq!((counts.omitted.report_at, counts.take_omitted(now + REPORT)), (None, None));
    }

    #[test]
    fn messages_of_the_daemon_itself_are_not_limited() {
        let log = ClientLog::default();
        let left_out = |owner| {
            (0..20).for_each(|_| _ = log.log(Level::Info, owner, format_args!("x")));
            log.lock().omitted.number
        };
        assert_eq!([left_out(None), left_out(Some(1))], [0, 10]);
    }
}
