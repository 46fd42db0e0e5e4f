//! Live streams of a session.

use std::time::Duration;

use trace_protocol::archive::ClockSample;
use trace_protocol::mode::BufferingMode;

use super::rotation::ticks_per_second;
use super::Recording;
use crate::category_filter::CategoryFilter;
use crate::clock::counter_rate;
use crate::collection::Collection;
use crate::error::ManagerError;
use crate::records::Records;
use crate::sink::Follower;

/// The time between two flushes of the providers of a session that is followed.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);

/// The most streams of a session.
const MAX_FOLLOWERS: usize = 16;

impl Recording {
    /// Adds a stream of the records that are collected from now on, with events of these
    /// categories. All copies are checked before the call.
    pub(crate) fn follow(
        &mut self,
        collection: &Collection,
        mut follower: Follower,
        categories: &[String],
    ) -> Result<(), ManagerError> {
        if self.config.provider_mode() != BufferingMode::Streaming {
            return Err(ManagerError::FollowMode);
        }
        if self.outputs.followers() >= MAX_FOLLOWERS {
            return Err(ManagerError::TooManyFollowers { limit: MAX_FOLLOWERS });
        }
        let now = ClockSample::now();
        let rate = counter_rate(&self.start_clocks, &now).unwrap_or(self.estimated_rate);
        let mut filter = CategoryFilter::new(categories, self.spares.clone());
        for provider in collection.of_session(self.number) {
            let (id, identity) = (provider.id(), provider.identity());
            follower.open(identity, ticks_per_second(identity, rate), &now);
            filter.add(id, 0);
            let mut words = Records::begin(&self.spares, id);
            words.extend(provider.durable_records());
            follower.take(&filter.select(&self.block(id, words)));
        }
        self.outputs.follow(filter, follower);
        Ok(())
    }

    /// Returns whether the providers must be flushed now for live streams and conditions over
    /// records.
    pub(crate) fn must_flush(&mut self) -> bool {
        let now = self.elapsed();
        let is_due = now.saturating_sub(self.flushed_at) >= FLUSH_INTERVAL;
        let must_flush =
            is_due && (self.outputs.followers() > 0 || self.conditions.needs_records());
        if must_flush {
            self.flushed_at = now;
        }
        must_flush
    }
}
