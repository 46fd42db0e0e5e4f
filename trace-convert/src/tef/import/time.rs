//! The times of events.
//!
//! FXT has no times before 0. So that those of a document stay what they are to each other, all are
//! shifted by what makes the earliest one 0.

use super::draft::Draft;
use super::head;
use crate::tef::event::Event;
use crate::tef::value::Value;

/// The clock of a document.
#[derive(Debug, Default)]
pub(super) struct Time {
    /// By how many nanoseconds times are later in the archive.
    pub(super) shift: u64,
    /// The time of the event that had one last.
    pub(super) now: u64,
    /// Events that are before 0 all the same: they are at 0.
    pub(super) before_start: u64,
}

impl Time {
    /// Returns the time of an event; what it lacks or FXT cannot express is that of the event
    /// before.
    #[inline]
    pub(super) fn of<'a>(
        &mut self,
        draft: &mut Draft<'a>,
        value: Option<Value<'a>>,
        absent: &mut bool,
    ) -> u64 {
        match (value, self.shift) {
            (Some(Value::Number(number)), 0) if !number.written().starts_with('-') => {
                head::nanos(draft, "ts", value, absent).unwrap_or(self.now)
            }
            (Some(value), _) => self.shifted(draft, value),
            (None, _) => {
                *absent = true;
                self.now
            }
        }
    }

    #[cold]
    fn shifted<'a>(&mut self, draft: &mut Draft<'a>, value: Value<'a>) -> u64 {
        let Some((nanos, is_exact)) = Event::signed_nanos(value) else {
            draft.known_member("ts", value);
            return self.now;
        };
        let ticks = nanos.saturating_add(i128::from(self.shift));
        let has_place = u64::try_from(ticks);
        if !is_exact || has_place.is_err() || matches!(value, Value::String(_)) {
            draft.known_member("ts", value);
        }
        self.before_start += u64::from(ticks < 0);
        has_place.unwrap_or(if ticks < 0 { 0 } else { self.now })
    }
}
