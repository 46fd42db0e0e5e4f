//! The handle of a task, which the traced future holds.

use std::fmt;

use trace_protocol::clock::ticks;

use super::arguments::{Stored, TraceFutureArgs, Values};
use super::life::Life;
use super::poll::Running;
use super::strings::State;
use crate::point::arguments::Arguments;
use crate::point::names::Literal;
use crate::point::site::{Key, Site};

/// The state of a traced future, without the future itself.
///
/// If it is dropped before its end, it is recorded as cancelled.
pub struct Task<V: Stored = Values<Literal, ()>> {
    pub(super) life: Life,
    pub(super) values: V,
}

/// Begins a task at once. Call it only while the site is on.
#[inline(always)]
pub fn begin<A: Arguments>(site: &'static Site, keys: &'static [Key], arguments: A) -> Task {
    let mut task = Task::unbegun(site);
    task.life.begin(&Literal, keys, Some(arguments));
    task
}

impl Task {
    /// Returns a task without arguments that begins with its first poll.
    #[inline(always)]
    pub fn unbegun(site: &'static Site) -> Self {
        Self { life: Life::new(site), values: Values::NONE }
    }
}

impl<V: Stored> Task<V> {
    /// Returns a task that begins with its first poll.
    #[inline(always)]
    pub(super) fn new(TraceFutureArgs { site, values }: TraceFutureArgs<V>) -> Self {
        Self { life: Life::new(site), values }
    }

    /// Returns whether the site is on.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.life.identity.site.is_on()
    }

    /// Begins a poll, and the task if it has not begun. Returns `None` if neither is recorded.
    #[inline(always)]
    pub(super) fn enter(&mut self) -> Option<Running<'_, V::Names<'_>>> {
        let Self { life, values } = self;
        let names = values.names()?;
        let begun = match life.is_begun() {
            true => None,
            false => Some(life.begin(&names, life.identity.site.keys(), values.arguments())?),
        };
        Some(Running::begin(life, names, begun))
    }
}

impl<V: Stored> Drop for Task<V> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_on() && self.life.is_open() {
            self.cancel();
        }
    }
}

impl<V: Stored> Task<V> {
    #[cold]
    #[inline(never)]
    fn cancel(&mut self) {
        if let Some(names) = self.values.names() {
            self.life.end(&names, State::Cancelled, ticks());
        }
    }
}

impl<V: Stored> fmt::Debug for Task<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("life", &self.life).finish_non_exhaustive()
    }
}
